/**
 * Schemas of stored nodes, leaf texts and roots; separates malformed ones from those that count
 * wrongly.
 */
import { Binary } from 'mongodb';
import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { compareKeys } from '../../read-models/rank-tree/keys.ts';
import {
  type RankNode,
  packCounts,
  unpackCounts,
  WIDTHS,
} from '../../read-models/rank-tree/nodes.ts';

export const CLOSED = { additionalProperties: false } as const;

const WholeNumber = Type.Integer({
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
});

/** No tree has more levels: a level of nodes multiplies by dozens what the one below it holds. */
const MAX_LEVELS = 20;

/** Returns a check that names the malformed part, or `null`; it quotes no values. */
export function shapeCheck(schema: TSchema): (stored: unknown) => string | null {
  const validator = Compile(schema);
  return (stored) => {
    if (validator.Check(stored)) return null;
    const [first] = validator.Errors(stored);
    return `${first?.instancePath ?? ''} ${first?.message ?? 'is malformed'}`.trim();
  };
}

const nodeShape = shapeCheck(
  Type.Object(
    {
      _id: Type.String(),
      store_id: Type.String(),
      boundaries: Type.Array(Type.String(), { minItems: 1 }),
      facets: Type.Array(Type.String(), { uniqueItems: true }),
      counts: Type.Refine(Type.Unknown(), (value) => value instanceof Binary),
      bytes: Type.Optional(Type.Array(WholeNumber)),
    },
    CLOSED,
  ),
);

export const damageOfTexts = shapeCheck(
  Type.Object(
    {
      _id: Type.String(),
      store_id: Type.String(),
      total: WholeNumber,
      texts: Type.Object({ names: Type.String(), numbers: Type.String() }, CLOSED),
    },
    CLOSED,
  ),
);

const ROOT = { counts: Type.Record(Type.String(), WholeNumber) };

/** A root in a stamp: of a tree with leaves, or of one that is too small for them. */
export const RootShape = Type.Union([
  Type.Object(ROOT, CLOSED),
  Type.Object(
    {
      ...ROOT,
      leaves: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      levels: Type.Integer({ minimum: 1, maximum: MAX_LEVELS }),
      version: Type.String({ minLength: 1 }),
    },
    CLOSED,
  ),
]);
export const damageOfRoot = shapeCheck(RootShape);

export function damageOf(node: object): string | null {
  const damage = nodeShape(node);
  if (damage !== null) return damage;
  const { boundaries, facets, counts, bytes } = node as RankNode;
  if (bytes !== undefined && bytes.length !== boundaries.length) return '/bytes has another length';
  const numbers = boundaries.length * facets.length;
  const isPacked =
    numbers === 0 ? counts.length() === 0 : WIDTHS.includes(counts.length() / numbers);
  return isPacked ? null : '/counts has another length';
}

/**
 * How a well-formed node differs from the one that would be written.
 * @param place where it begins, by its `_id`.
 */
export function deviationOf(
  { store_id, boundaries, facets, counts, bytes }: RankNode,
  storeId: string,
  place: string,
  hasBytes: boolean,
): string | null {
  if (store_id !== storeId) return 'store_id of another store';
  if ((bytes !== undefined) !== hasBytes)
    return hasBytes ? 'bytes are missing' : 'bytes of no texts';
  if (boundaries[0] !== place) return 'it begins elsewhere than its _id says';
  const isOrdered = boundaries.every(
    (boundary, index) => index === 0 || compareKeys(boundaries[index - 1] ?? '', boundary) < 0,
  );
  if (!isOrdered) return 'boundaries are not in order';
  const packed = packCounts(unpackCounts({ boundaries, facets, counts: counts.buffer }));
  const isPackedSo =
    packed.facets.length === facets.length && packed.counts.length() === counts.length();
  return isPackedSo ? null : 'counts are packed in another way';
}
