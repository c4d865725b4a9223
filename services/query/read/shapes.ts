/** The shapes of a record in an answer: as it is stored, or joined with other records. */
import type { Document } from 'mongodb';
import {
  BY_ID,
  CATEGORY_PRODUCTS,
  type CategoryDocument,
  type CategoryProducts,
  COLLECTIONS,
  documentId,
  documentsWith,
  type OptionGroupDocument,
  type OrderDocument,
  type ProductDocument,
  type Stamp,
} from '#shared/read-models/collections.ts';
import { shiftJson } from '#shared/records/stored-json.ts';
import { inBatches } from '#shared/waiting.ts';
import { offsetOf, type ReadInSnapshot, stampsIn, unionWithStamps } from './snapshot.ts';
import type { Portioned } from './streams.ts';

interface ShapeReading {
  /** The stages, after the match, that leave `_id`, `offset` and the parts of the body. */
  stages: Document[];
  /** The JSON, with date-times in the document's offset; `undefined` if there is no such body. */
  bodyOf: (row: Document) => string | undefined;
}

export type Shape = 'summary' | 'whole' | 'order' | 'category' | 'product';

/** Each shape is read in one snapshot. */
export const SHAPES: Readonly<Record<Shape, ShapeReading>> = {
  summary: asStored('summary'),
  whole: asStored('whole'),
  order: {
    stages: [{ $project: { summary: 1, whole: 1, offset: 1 } }],
    bodyOf(row) {
      const { summary, whole } = row as Pick<OrderDocument, 'summary' | 'whole'>;
      // These match names of members only: a quote in a text has a backslash before it.
      const customer = summary.indexOf(',"customer":') + 1;
      const afterCustomer = summary.indexOf(',"item_count":');
      const items = whole.indexOf(',"items":');
      return `${summary.slice(0, customer)}${whole.slice(1, items)}${summary.slice(afterCustomer, -1)}${whole.slice(items)}`;
    },
  },
  category: {
    stages: [
      {
        $lookup: { from: CATEGORY_PRODUCTS, localField: '_id', foreignField: '_id', as: 'counts' },
      },
      { $project: { summary: 1, dates: 1, offset: 1, 'counts.products': 1 } },
    ],
    bodyOf(row) {
      const { summary, dates, counts } = row as CategoryRow;
      return `${summary.slice(0, -1)},${dates},"product_count":${counts[0]?.products ?? 0}}`;
    },
  },
  product: {
    stages: [
      {
        $set: {
          groups: {
            $map: { input: '$option_group_ids', in: { $concat: ['$store_id', '/', '$$this'] } },
          },
        },
      },
      {
        $lookup: {
          from: COLLECTIONS.option_group,
          localField: 'groups',
          foreignField: '_id',
          pipeline: [{ $project: { summary: 1 } }],
          as: 'found',
        },
      },
      {
        $project: { summary: 1, before_groups: 1, after_groups: 1, offset: 1, groups: 1, found: 1 },
      },
    ],
    bodyOf(row) {
      const { summary, before_groups, after_groups, groups, found } = row as ProductRow;
      const shown = shownGroups(groups, found).join(',');
      return `${summary.slice(0, -1)},${before_groups},"option_groups":[${shown}],${after_groups}}`;
    },
  },
};

/** Option groups of one read. */
const GROUPS = 16;

/** Reads a product with any number of large option groups in portions. */
export async function readProduct(
  read: ReadInSnapshot,
  storeId: string,
  id: string,
): Promise<Portioned | null> {
  const fields = { summary: 1, before_groups: 1, after_groups: 1, offset: 1, option_group_ids: 1 };
  const stages = [{ $match: documentsWith([id]) }, { $project: fields }, unionWithStamps(storeId)];
  const rows = await read<ProductDocument | Stamp>(COLLECTIONS.product, stages, BY_ID);
  const product = rows.find((row) => 'option_group_ids' in row);
  if (product === undefined) return null;
  const stamp = stampsIn(rows).get(storeId) ?? null;
  return { stamp, portions: portionsOf(read, storeId, product, offsetOf(stamp)) };
}

async function* portionsOf(
  read: ReadInSnapshot,
  storeId: string,
  { summary, before_groups, after_groups, offset: madeFor, option_group_ids }: ProductDocument,
  offset: string,
): AsyncGenerator<Buffer> {
  const shifted = (json: string) => Buffer.from(shiftJson(json, madeFor, offset), 'latin1');
  yield shifted(`${summary.slice(0, -1)},${before_groups},"option_groups":[`);
  let separator = '';
  const documents = option_group_ids.map((id) => documentId(storeId, id));
  for await (const ids of inBatches(documents, GROUPS)) {
    const stages = [{ $match: documentsWith(ids) }, { $project: { summary: 1 } }];
    const found = await read<FoundGroup>(COLLECTIONS.option_group, stages, BY_ID);
    const shown = shownGroups(ids, found);
    if (shown.length === 0) continue;
    yield Buffer.from(separator + shown.join(','), 'latin1');
    separator = ',';
  }
  yield shifted(`],${after_groups}}`);
}

function shownGroups(ids: readonly string[], found: readonly FoundGroup[]): string[] {
  const bodies = new Map(found.map((group) => [group._id, group.summary]));
  return ids.flatMap((id) => bodies.get(id) ?? []);
}

type CategoryRow = Pick<CategoryDocument, 'summary' | 'dates'> & {
  counts: Pick<CategoryProducts, 'products'>[];
};

type ProductRow = Pick<ProductDocument, 'summary' | 'before_groups' | 'after_groups'> & {
  /** Ids of documents, in the order of the product. */
  groups: string[];
  /** In no order. */
  found: FoundGroup[];
};

type FoundGroup = Pick<OptionGroupDocument, '_id' | 'summary'>;

function asStored(field: 'summary' | 'whole'): ShapeReading {
  return {
    stages: [{ $project: { [field]: 1, offset: 1 } }],
    bodyOf: (row) => row[field] as string | undefined,
  };
}
