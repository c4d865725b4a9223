/**
 * Reads a menu, product by product, from one snapshot. A store with few records takes one read. Any
 * other is read in pieces, so that memory is bounded, however large the menu is.
 */
import type { Document } from 'mongodb';
import { LRUCache } from 'lru-cache';
import {
  BY_ID,
  type CategoryDocument,
  COLLECTIONS,
  documentId,
  documentsWith,
  type OptionGroupDocument,
  type ProductDocument,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import { toLocalDateTime } from '#shared/read-models/local-time.ts';
import { shiftJson } from '#shared/records/stored-json.ts';
import type { Portioned } from '../read/streams.ts';
import { SEGMENT_INDEX, WITHIN_CATEGORY } from '../lists/products.ts';
import {
  isTooLarge,
  offsetOf,
  readSnapshot,
  type SnapshotReads,
  type Source,
  unionOf,
} from '../read/snapshot.ts';

type ShownCategory = Pick<CategoryDocument, '_id' | 'summary' | 'offset' | 'updated_at'>;
type ShownProduct = Pick<
  ProductDocument,
  'category_id' | 'summary' | 'offset' | 'updated_at' | 'option_group_ids'
>;
type ShownGroup = Pick<OptionGroupDocument, '_id' | 'active_summary'>;

interface Shown {
  category: ShownCategory;
  product: ShownProduct;
  /** By id, the JSON of the option groups that exist. */
  groups: ReadonlyMap<string, string>;
}

const ACTIVE: Document = { $match: { active: true } };
const BY_POSITION: Document = { $sort: { position: 1, name: 1, _id: 1 } };
const SHOWN = { summary: 1, offset: 1, updated_at: 1 };
const SHOWN_OF_PRODUCTS: Document = {
  $project: { _id: 0, category_id: 1, option_group_ids: 1, ...SHOWN },
};
const SHOWN_OF_GROUPS: Document = { $project: { active_summary: 1 } };

/** Categories, products and option groups together. */
const FEW_RECORDS = 1_000;

export function isFew(stamp: Stamp | null): boolean {
  const { category = 0, product = 0, option_group: groups = 0 } = stamp?.counts ?? {};
  return category + product + groups <= FEW_RECORDS;
}

/** One row holds all records in arrays: as rows they would take twice the time. */
type Row = Stamp & {
  /** In order of their categories' ids, then in their own. */
  products: ShownProduct[];
  categories: ShownCategory[];
  groups: ShownGroup[];
};

/** Reads the menu of a store with few records; `null` if they do not fit into one document. */
export async function readSmallMenu(source: Source, storeId: string): Promise<Portioned | null> {
  const ofStore = (from: string, as: string, pipeline: Document[]) => ({
    $lookup: { from, localField: '_id', foreignField: 'store_id', pipeline, as },
  });
  const products = [ACTIVE, { $sort: { category_id: 1, ...WITHIN_CATEGORY } }, SHOWN_OF_PRODUCTS];
  const stages = [
    { $match: { _id: storeId } },
    ofStore(COLLECTIONS.product, 'products', products),
    ofStore(COLLECTIONS.category, 'categories', [ACTIVE, BY_POSITION, { $project: SHOWN }]),
    ofStore(COLLECTIONS.option_group, 'groups', [SHOWN_OF_GROUPS]),
  ];
  try {
    const [row] = await readSnapshot<Row>(source, STAMPS, stages);
    if (row === undefined) return { stamp: null, portions: jsonOf(storeId, offsetOf(null), []) };
    const { products: _products, categories: _categories, groups: _groups, ...stamp } = row;
    return { stamp, portions: jsonOf(storeId, offsetOf(stamp), shownIn(row)) };
  } catch (error) {
    if (isTooLarge(error)) return null;
    throw error;
  }
}

function* shownIn(row: Row): Generator<Shown> {
  const { length } = documentId(row._id, '');
  const products = Map.groupBy(row.products, ({ category_id: category }) => category);
  const groups = new Map(
    row.groups.map(({ _id, active_summary: body }) => [_id.slice(length), body]),
  );
  for (const category of row.categories) {
    for (const product of products.get(category._id.slice(length)) ?? []) {
      yield { category, product, groups };
    }
  }
}

/** Reads a menu of any size while its portions are consumed. */
export async function readLargeMenu(reads: SnapshotReads, storeId: string): Promise<Portioned> {
  const [stamp = null] = await reads.read<Stamp>(STAMPS, [{ $match: { _id: storeId } }]);
  return { stamp, portions: jsonOf(storeId, offsetOf(stamp), shownBy(reads, storeId)) };
}

/** Categories whose products one command finds. */
const CATEGORIES = 50;
/** Products of one batch. */
const PRODUCTS = 100;
/** Option groups of one read: as many as one product may have. */
const GROUPS = 100;
/** Characters of option groups that are cached for the products that follow. */
const KEPT_CHARACTERS = 8 * 1_048_576;

async function* shownBy(reads: SnapshotReads, storeId: string): AsyncGenerator<Shown> {
  const groupsOf = groupReader(reads, storeId);
  const ofStore = { $match: { store_id: storeId, active: true } };
  const categories = [ofStore, BY_POSITION, { $project: SHOWN }];
  for await (const some of reads.batches<ShownCategory>(
    COLLECTIONS.category,
    categories,
    'by_position',
    CATEGORIES,
  )) {
    const byId = new Map(some.map((category) => [category._id, category]));
    const stages = some.map(({ _id }) => [
      { $match: { ...ofStore.$match, category_id: _id.slice(storeId.length + 1) } },
      { $sort: WITHIN_CATEGORY },
      SHOWN_OF_PRODUCTS,
    ]);
    for await (const products of reads.batches<ShownProduct>(
      COLLECTIONS.product,
      unionOf(COLLECTIONS.product, stages),
      SEGMENT_INDEX,
      PRODUCTS,
    )) {
      for (const part of partsOf(products)) {
        const groups = await groupsOf(part);
        for (const product of part) {
          const category = byId.get(documentId(storeId, product.category_id));
          if (category !== undefined) yield { category, product, groups };
        }
      }
    }
  }
}

/** Splits products into parts that name few option groups. */
function* partsOf(products: readonly ShownProduct[]): Generator<ShownProduct[]> {
  let part: ShownProduct[] = [];
  let groups = new Set<string>();
  for (const product of products) {
    const own = new Set(product.option_group_ids);
    groups = groups.union(own);
    if (part.length > 0 && groups.size > GROUPS) {
      yield part;
      part = [];
      groups = own;
    }
    part.push(product);
  }
  if (part.length > 0) yield part;
}

/** Makes the read of the option groups that products name: the JSON by id, of those that exist. */
function groupReader(reads: SnapshotReads, storeId: string) {
  /** An empty text for a group that does not exist. */
  const kept = new LRUCache<string, string>({
    maxSize: KEPT_CHARACTERS,
    sizeCalculation: (body) => body.length + 100,
  });
  return async (products: readonly ShownProduct[]): Promise<ReadonlyMap<string, string>> => {
    const bodies = new Map<string, string>();
    const missing: string[] = [];
    for (const id of new Set(products.flatMap((product) => product.option_group_ids))) {
      const body = kept.get(id);
      if (body === undefined) missing.push(id);
      else if (body !== '') bodies.set(id, body);
    }
    if (missing.length === 0) return bodies;
    const named = { $match: documentsWith(missing.map((id) => documentId(storeId, id))) };
    const found = await reads.read<ShownGroup>(
      COLLECTIONS.option_group,
      [named, SHOWN_OF_GROUPS],
      BY_ID,
    );
    for (const { _id, active_summary: body } of found)
      bodies.set(_id.slice(storeId.length + 1), body);
    for (const id of missing) kept.set(id, bodies.get(id) ?? '');
    return bodies;
  };
}

const PORTION_CHARACTERS = 65_536;

/**
 * The JSON of a menu.
 * @param offset of the answer, from the same snapshot.
 * @param shown grouped by category.
 */
async function* jsonOf(
  storeId: string,
  offset: string,
  shown: Iterable<Shown> | AsyncIterable<Shown>,
): AsyncGenerator<Buffer> {
  let text = `{"store_id":${JSON.stringify(storeId)},"categories":[`;
  let open: ShownCategory | null = null;
  let newest = Number.NEGATIVE_INFINITY;
  for await (const { category, product, groups } of shown) {
    if (category !== open) {
      const summary = shiftJson(category.summary, category.offset, offset);
      text += `${open === null ? '' : ']},'}${summary.slice(0, -1)},"products":[`;
      newest = Math.max(newest, category.updated_at.getTime());
    } else {
      text += ',';
    }
    open = category;
    const summary = shiftJson(product.summary, product.offset, offset);
    const shownGroups = product.option_group_ids.flatMap((id) => groups.get(id) ?? []).join(',');
    text += `${summary.slice(0, -1)},"option_groups":[${shownGroups}]}`;
    newest = Math.max(newest, product.updated_at.getTime());
    if (text.length >= PORTION_CHARACTERS) {
      yield Buffer.from(text, 'latin1');
      text = '';
    }
  }
  const updated = open === null ? null : toLocalDateTime(newest, offset);
  yield Buffer.from(
    `${text}${open === null ? '' : ']}'}],"updated_at":${JSON.stringify(updated)}}`,
    'latin1',
  );
}
