/**
 * Reads pages of the product list in the order of its categories, which no index has. The layout of
 * a store (its categories in order, and how many products name each) cuts a page into segments,
 * each of which an index has in order. The layout is cached; the stamp in the snapshot of the page
 * proves that it is current, so that as a rule a page is one read.
 */
import type { Document } from 'mongodb';
import {
  CATEGORY_PRODUCTS,
  type CategoryDocument,
  type CategoryProducts,
  COLLECTIONS,
  documentId,
  idsOfStore,
  oneOf,
  type Stamp,
} from '#shared/read-models/collections.ts';
import type { CategoryGroup, Layout } from '../read/caches.ts';
import { type PageRequest, type PageRow, segmentsOf, shownOf, skippedBy } from '../read/page.ts';
import { limitsOnly, type ListStrategy } from './request.ts';
import { readStamp, readPipelines, type View } from '../read/shared-reads.ts';
import {
  inSnapshot,
  type ReadInSnapshot,
  type SnapshotReads,
  unionOf,
  unionWithStamps,
} from '../read/snapshot.ts';

const COLLECTION = COLLECTIONS.product;
/** The index in which each category's products stand in order. */
export const SEGMENT_INDEX = 'by_category';
/** The order of products within a category. */
export const WITHIN_CATEGORY = { position: 1, name: 1, _id: 1 } as const;

/** All products, by the cached layout. Gives up without one, and if the page's stamp names another. */
export const cachedLayout: ListStrategy = {
  isCheap: true,
  suits: (query) => limitsOnly(query),
  async read(view, request) {
    const { layouts } = view.shared.caches;
    const key = view.shared.key(view.storeId);
    const layout = layouts.get(key);
    if (layout === undefined) return null;
    const { pipelines, keys } = segmentPipelines(view.storeId, layout.groups, request);
    const { rows, stamp } =
      pipelines.length === 0
        ? { rows: [], stamp: await readStamp(view) }
        : await readPipelines(view, { entity: 'product', index: SEGMENT_INDEX, pipelines, keys });
    if (stamp?.layout !== layout.version) {
      if (layouts.get(key) === layout) layouts.delete(key);
      return null;
    }
    const count = stamp?.counts?.product ?? 0;
    return { rows, stamp, count, ...(request.page === 1 && { isShared: true }) };
  },
};

/** All products, by the layout of the page's own snapshot. */
export const ownLayout: ListStrategy = {
  suits: (query) => limitsOnly(query),
  async read(view, query) {
    // Another request may have read it meanwhile.
    const cached = await cachedLayout.read(view, query);
    if (cached !== null) return cached;
    return inSnapshot(view, async (reads) => {
      const { storeId, shared } = view;
      const { layout, stamp } = await readLayout(reads, storeId);
      shared.caches.layouts.set(shared.key(storeId), layout);
      const rows = await readPage(reads.read, view, layout.groups, query);
      return { rows, stamp, count: stamp?.counts?.product ?? 0 };
    });
  },
};

/** Gives products the place of their category; those without a known category come last. */
export function placeStages(storeId: string): Document[] {
  return [
    { $set: { category: { $concat: [`${storeId}/`, '$category_id'] } } },
    {
      $lookup: {
        from: COLLECTIONS.category,
        localField: 'category',
        foreignField: '_id',
        pipeline: [{ $project: { position: 1 } }],
        as: 'category',
      },
    },
    { $set: { place: { $ifNull: [{ $first: '$category.position' }, Number.POSITIVE_INFINITY] } } },
  ];
}

/** Products updated in a long window: their number in each category replaces the layout's. */
export const layoutUpdated: ListStrategy = {
  suits: (query) => query.conditions.updated !== undefined && limitsOnly(query, 'updated'),
  read: (view, query) =>
    inSnapshot(view, async (reads) => {
      const { storeId } = view;
      const { positions, stamp } = await readLayout(reads, storeId);
      const counted = await reads.read<{ category: string; products: number }>(
        COLLECTION,
        [
          { $match: query.match },
          { $group: { _id: '$category_id', products: { $sum: 1 } } },
          // A row with the `_id` of a category might be taken for the stamp of a store.
          { $project: { _id: 0, category: '$_id', products: 1 } },
        ],
        'by_updated',
      );
      const products = new Map(
        counted.map(({ category, products: some }) => [documentId(storeId, category), some]),
      );
      const groups = groupsOf(storeId, positions, products);
      const rows = await readPage(reads.read, view, groups, query, query.conditions.updated);
      return { rows, stamp, count: counted.reduce((sum, { products: some }) => sum + some, 0) };
    }),
};

async function readPage(
  read: ReadInSnapshot,
  view: View,
  groups: readonly CategoryGroup[],
  request: PageRequest,
  filter?: Document,
): Promise<PageRow[]> {
  const segments = segmentPipelines(view.storeId, groups, request, filter);
  const pipelines = segments.pipelines.map((stages) => [...stages, ...shownOf(view, 'product')]);
  return pipelines.length === 0
    ? []
    : read<PageRow>(COLLECTION, unionOf(COLLECTION, pipelines), SEGMENT_INDEX);
}

/** MongoDB merges so many sorted scans of an index; of more categories it sorts all products. */
const MAX_MERGED = 200;

/** The stages that find each segment of a page, and how many keys they examine. */
function segmentPipelines(
  storeId: string,
  groups: readonly CategoryGroup[],
  request: PageRequest,
  filter?: Document,
): { pipelines: Document[][]; keys: number } {
  let keys = 0;
  const pipelines = segmentsOf(groups, skippedBy(request), request.pageSize).map(
    ({ part, skip, limit }) => {
      const { categories, count } = part;
      keys += categories.length + (categories.length > MAX_MERGED ? count : skip + limit);
      return [
        { $match: { store_id: storeId, category_id: oneOf(categories), ...filter } },
        { $sort: WITHIN_CATEGORY },
        ...(skip > 0 ? [{ $skip: skip }] : []),
        { $limit: limit },
      ];
    },
  );
  return { pipelines, keys };
}

type CategoryRow = { category: true } & Pick<CategoryDocument, '_id' | 'position'>;
type Row = CategoryRow | Pick<CategoryProducts, '_id' | 'products'> | Stamp;

interface ReadLayout {
  layout: Layout;
  /** By the document id of the category. */
  positions: ReadonlyMap<string, number>;
  stamp: Stamp | null;
}

/**
 * Reads the layout and the stamp of one snapshot in batches: a hundred thousand categories in a
 * single read would take too long.
 */
async function readLayout(reads: SnapshotReads, storeId: string): Promise<ReadLayout> {
  const pipelineOfCounts = [
    { $match: { _id: idsOfStore(storeId) } },
    { $project: { products: 1 } },
  ];
  const batches = reads.batches<Row>(
    COLLECTIONS.category,
    [
      { $match: { store_id: storeId } },
      // Covered by the index.
      { $project: { position: 1, category: { $literal: true } } },
      { $unionWith: { coll: CATEGORY_PRODUCTS, pipeline: pipelineOfCounts } },
      unionWithStamps(storeId),
    ],
    'by_position',
  );
  const positions = new Map<string, number>();
  const products = new Map<string, number>();
  let stamp: Stamp | null = null;
  for await (const rows of batches) {
    for (const row of rows) {
      if ('products' in row) products.set(row._id, row.products);
      else if (row.category === true) positions.set(row._id, row.position);
      else stamp = row;
    }
  }
  const groups = groupsOf(storeId, positions, products);
  return { layout: { version: stamp?.layout, groups }, positions, stamp };
}

/** The categories by position. @param products how many name each category, by its document id. */
function groupsOf(
  storeId: string,
  positions: ReadonlyMap<string, number>,
  products: ReadonlyMap<string, number>,
): CategoryGroup[] {
  const prefix = documentId(storeId, '');
  const groups = new Map<number, CategoryGroup>();
  for (const [id, count] of products) {
    if (count <= 0) continue;
    const position = positions.get(id) ?? Number.POSITIVE_INFINITY;
    const group = groups.get(position) ?? { categories: [], count: 0 };
    group.categories.push(id.slice(prefix.length));
    group.count += count;
    groups.set(position, group);
  }
  return [...groups].toSorted(([a], [b]) => (a === b ? 0 : a - b)).map(([, group]) => group);
}
