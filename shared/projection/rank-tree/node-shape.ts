/** Checks the shape of stored nodes, leaf texts and roots; separates malformed ones from those that count wrongly. */
import { Binary } from 'mongodb';
import { compareKeys } from '../../read-models/rank-tree/keys.ts';
import type { RankNode } from '../../read-models/rank-tree/nodes.ts';
import { packCounts, unpackCounts } from '../../read-models/rank-tree/packed-counts.ts';
import { SEARCH_TEXTS } from '../../read-models/search-texts.ts';

/** Bytes of a count, as `packed-counts.ts` has them. */
const WIDTHS = new Set([1, 2, 4, 6]);

/**
 * What of a stored node cannot be read, `null` where all can. Never a value: boundaries may be names.
 * @param node the stored document.
 */
export function damageOf(node: object): string | null {
  const { store_id, boundaries, facets, counts, bytes, ...others } = node as Record<string, unknown>;
  if (typeof store_id !== 'string') return 'store_id is no text';
  if (!isTexts(boundaries) || boundaries.length === 0) return 'boundaries are no list of texts';
  if (!isTexts(facets) || new Set(facets).size < facets.length)
    return 'facets are no list of different texts';
  if (!(counts instanceof Binary)) return 'counts are no bytes';
  if (bytes !== undefined && !isNumbers(bytes, boundaries.length)) return 'bytes are no list of numbers';
  const numbers = boundaries.length * facets.length;
  const width = numbers === 0 ? counts.length() : counts.length() / numbers;
  if (numbers === 0 ? width > 0 : !WIDTHS.has(width)) return 'counts have another number of bytes';
  return Object.keys(others).some((field) => field !== '_id') ? 'unknown fields' : null;
}

/**
 * What of a node that can be read is not as it would be written: it belongs to another store or place, or counts are packed in
 * another way.
 * @param place where it begins, by its `_id`.
 * @param hasBytes whether it describes leaves that have texts.
 */
export function deviationOf(
  { store_id, boundaries, facets, counts, bytes }: RankNode,
  storeId: string,
  place: string,
  hasBytes: boolean,
): string | null {
  if (store_id !== storeId) return 'store_id of another store';
  if ((bytes !== undefined) !== hasBytes) return hasBytes ? 'bytes are missing' : 'bytes of no texts';
  if (boundaries[0] !== place) return 'it begins elsewhere than its _id says';
  const isOrdered = boundaries.every((boundary, index) => {
    const before = boundaries[index - 1];
    return before === undefined || compareKeys(before, boundary) < 0;
  });
  if (!isOrdered) return 'boundaries are not in order';
  const packed = packCounts(unpackCounts({ boundaries, facets, counts: counts.buffer }));
  if (packed.facets.length !== facets.length || packed.counts.length() !== counts.length()) {
    return 'counts are packed in another way';
  }
  return null;
}

/** What of a leaf's texts cannot be read, `null` where all can. */
export function damageOfTexts(stored: object, storeId: string): string | null {
  const { store_id, total, texts, ...others } = stored as Record<string, unknown>;
  if (store_id !== storeId) return 'store_id of another store';
  if (!Number.isSafeInteger(total)) return 'total is no number';
  if (!isObject(texts)) return 'texts are missing';
  if (SEARCH_TEXTS.some((name) => typeof texts[name] !== 'string')) return 'a text is missing';
  const known: readonly string[] = SEARCH_TEXTS;
  const isUnknown = (field: string) => !known.includes(field);
  if (Object.keys(texts).some(isUnknown)) return 'unknown texts';
  return Object.keys(others).some((field) => field !== '_id') ? 'unknown fields' : null;
}

/** No tree has more: a level of nodes multiplies by dozens what the one below it holds. */
const MAX_LEVELS = 20;

/** What of a root in a stamp cannot be read, `null` where all can. */
export function damageOfRoot(root: unknown): string | null {
  if (!isObject(root)) return 'no object';
  const { counts, leaves, levels, version, ...others } = root;
  if (!isObject(counts) || !Object.values(counts).every((count) => Number.isSafeInteger(count))) {
    return 'counts are no numbers';
  }
  if (Object.keys(others).length > 0) return 'unknown fields';
  if (leaves === undefined && levels === undefined && version === undefined) return null;
  if (!isPositive(leaves)) return 'leaves is no number';
  if (!isPositive(levels) || levels > MAX_LEVELS) return 'levels is no number of levels';
  return typeof version === 'string' && version !== '' ? null : 'version is no text';
}

function isNumbers(value: unknown, length: number): boolean {
  return Array.isArray(value) && value.length === length && value.every((item) => Number.isSafeInteger(item));
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Whether a value is an embedded document. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function isPositive(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
