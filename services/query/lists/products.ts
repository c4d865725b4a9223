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
import {
  type CountedPage,
  type PageRequest,
  type PageRow,
  segmentsOf,
  shownOf,
  skippedBy,
} from '../read/page.ts';
import { readStamp, readTogether, type View } from '../read/shared-reads.ts';
import {
  inSnapshot,
  type ReadInSnapshot,
  type SnapshotReads,
  united,
  unionWithStamps,
} from '../read/snapshot.ts';

const COLLECTION = COLLECTIONS.product;
/** The index in which each category's products stand in order. */
export const SEGMENT_INDEX = 'by_category';
/** The order of products within a category. */
export const WITHIN_CATEGORY = { position: 1, name: 1, _id: 1 } as const;

/** A page of all products: by the cached layout, or by the layout of its own snapshot. */
export async function readByLayout(view: View, request: PageRequest): Promise<CountedPage> {
  const { storeId, shared } = view;
  const key = shared.key(storeId);
  const { layouts } = shared.caches;
  const cached = layouts.get(key);
  const page = await readByCached(view, cached, request);
  if (page !== null) return page;
  return shared.alone(view, async (own) => {
    // Another request may have read it meanwhile.
    const read = layouts.get(key);
    const again = read === cached ? null : await readByCached(own, read, request);
    if (again !== null) return again;
    return inSnapshot(own, async (reads) => {
      const { layout, stamp } = await readLayout(reads, storeId);
      layouts.set(key, layout);
      const rows = await readPage(reads.read, own, layout.groups, request, {});
      return { rows, stamp, count: stamp?.counts?.product ?? 0 };
    });
  });
}

/** `null` without a layout, or if the stamp of the page's snapshot names another one. */
async function readByCached(
  view: View,
  layout: Layout | undefined,
  request: PageRequest,
): Promise<CountedPage | null> {
  if (layout === undefined) return null;
  const { pipelines, keys } = segmentPipelines(view.storeId, layout.groups, request, {});
  const { rows, stamp } =
    pipelines.length === 0
      ? { rows: [], stamp: await readStamp(view) }
      : await readTogether(view, { entity: 'product', index: SEGMENT_INDEX, pipelines, keys });
  if (stamp?.layout !== layout.version) return null;
  const count = stamp?.counts?.product ?? 0;
  return { rows, stamp, count, ...(request.page === 1 ? { isShared: true } : {}) };
}

/** A page of a long update window: its count per category replaces the layout's. */
export function readUpdatedByLayout(
  view: View,
  request: PageRequest,
  updated: Document,
): Promise<CountedPage> {
  const { storeId } = view;
  return inSnapshot(view, async (reads) => {
    const { positions, stamp } = await readLayout(reads, storeId);
    const counted = await reads.read<{ category: string; products: number }>(
      COLLECTION,
      [
        { $match: { store_id: storeId, ...updated } },
        { $group: { _id: '$category_id', products: { $sum: 1 } } },
        // A row with the `_id` of a category might be taken for the stamp of a store.
        { $project: { _id: 0, category: '$_id', products: 1 } },
      ],
      'by_updated',
    );
    const products = new Map(
      counted.map(({ category, products }) => [documentId(storeId, category), products]),
    );
    const rows = await readPage(
      reads.read,
      view,
      groupsOf(storeId, positions, products),
      request,
      updated,
    );
    return { rows, stamp, count: counted.reduce((sum, { products }) => sum + products, 0) };
  });
}

async function readPage(
  read: ReadInSnapshot,
  view: View,
  groups: readonly CategoryGroup[],
  request: PageRequest,
  filter: Document,
): Promise<PageRow[]> {
  const segments = segmentPipelines(view.storeId, groups, request, filter);
  const pipelines = segments.pipelines.map((stages) => [...stages, ...shownOf(view, 'product')]);
  return pipelines.length === 0
    ? []
    : read<PageRow>(COLLECTION, united(COLLECTION, pipelines), SEGMENT_INDEX);
}

/** MongoDB merges so many sorted scans of an index; of more categories it sorts all products. */
const MAX_MERGED = 200;

/** The stages that find each segment of a page, and how many keys they examine. */
function segmentPipelines(
  storeId: string,
  groups: readonly CategoryGroup[],
  request: PageRequest,
  filter: Document,
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
  const layout = { version: stamp?.layout, groups: groupsOf(storeId, positions, products) };
  return { layout, positions, stamp };
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
