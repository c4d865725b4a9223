/**
 * Reads one page of the product list in the order of its categories, which no index has. Where they stand is cached, and
 * the stamp in the snapshot of the page proves it, so that as a rule a page is one read.
 */
import type { Document } from 'mongodb';
import { COLLECTIONS, documentId } from '#shared/read-models/collections.ts';
import { type CountedPage, PAGE_FIELDS, type PageRequest, type PageRow, skippedBy } from '../read/page.ts';
import type { Layout } from '../read/caches.ts';
import { type FirstPage, readPages, type View } from '../read/shared-reads.ts';
import {
  inSnapshot,
  readSnapshot,
  type ReadInSnapshot,
  readStamp,
  stampIn,
  unionWithStamp,
} from '../read/snapshot.ts';
import {
  SEGMENT_INDEX,
  segmentStages,
  segmentsOf,
  readLayout,
  categoryGroupsOf,
  unionPipelines,
  WITHIN_CATEGORY,
  firstGroups,
} from './product-layout.ts';

const COLLECTION = COLLECTIONS.product;

/** A page of all products: where the cached layout says that it lies, or by the layout of its own snapshot. */
export async function readByLayout(view: View, request: PageRequest): Promise<CountedPage> {
  const { storeId, shared } = view;
  const key = shared.key(storeId);
  const { layouts } = shared.caches;
  const page = await readByCached(view, layouts.get(key), request);
  if (page !== null) return counted(page);
  return inSnapshot(view, async (reads) => {
    const { layout, stamp } = await readLayout(reads, storeId);
    layouts.set(key, layout);
    return counted({ rows: await readPage(reads.read, view, layout, request, {}), stamp });
  });
}

type StampedPage = Omit<CountedPage, 'count'>;

function counted(page: StampedPage): CountedPage {
  return { ...page, count: page.stamp?.counts?.product ?? 0 };
}

/** `null` where there is no layout, or the stamp of the page's snapshot names another one. */
async function readByCached(
  view: View,
  layout: Layout | undefined,
  request: PageRequest,
): Promise<StampedPage | null> {
  if (layout === undefined) return null;
  const { storeId, withDeadline, shared } = view;
  if (request.page === 1 && isCompact(layout, request.pageSize)) {
    const kind = { entity: 'product', pageSize: request.pageSize } as const;
    const first = await withDeadline((signal) =>
      shared.firstPage(kind, storeId, signal, (ids) => readFirstProducts(shared, kind.pageSize, ids)),
    );
    if (first !== null)
      return first.stamp?.layout === first.layout?.version ? { ...first, isShared: true } : null;
  }
  const stages = pageStages(view, layout, request, {});
  const rows =
    stages === null
      ? []
      : await readSnapshot<PageRow>(view, COLLECTION, [...stages, unionWithStamp(view)], {
          hint: SEGMENT_INDEX,
        });
  const stamp = stages === null ? await readStamp(view) : stampIn(rows);
  return stamp?.layout === layout.version ? { rows, stamp } : null;
}

/** What was updated in a window with many products: as all products, but counted by category. */
export function readUpdatedByLayout(
  view: View,
  request: PageRequest,
  updated: Document,
): Promise<CountedPage> {
  return inSnapshot(view, async (reads) => {
    const { read } = reads;
    const { layout, positions, stamp } = await readLayout(reads, view.storeId);
    const counted = await read<{ _id: string; products: number }>(
      COLLECTION,
      [
        { $match: { store_id: view.storeId, ...updated } },
        { $group: { _id: '$category_id', products: { $sum: 1 } } },
      ],
      'by_updated',
    );
    const products = new Map(counted.map(({ _id, products }) => [documentId(view.storeId, _id), products]));
    const groups = categoryGroupsOf(view.storeId, positions, products);
    return {
      rows: await readPage(read, view, { ...layout, groups }, request, updated),
      stamp,
      count: counted.reduce((sum, { products }) => sum + products, 0),
    };
  });
}

async function readPage(
  read: ReadInSnapshot,
  view: View,
  layout: Layout,
  request: PageRequest,
  filter: Document,
): Promise<PageRow[]> {
  const stages = pageStages(view, layout, request, filter);
  return stages === null ? [] : read<PageRow>(COLLECTION, stages, SEGMENT_INDEX);
}

/** The stages that find a page among the products that pass a filter; `null` where there is nothing. */
function pageStages(
  { storeId }: View,
  { groups }: Layout,
  request: PageRequest,
  filter: Document,
): Document[] | null {
  const segments = segmentsOf(groups, skippedBy(request), request.pageSize);
  return unionPipelines(segments.map((segment) => [...segmentStages(storeId, segment, filter), PAGE_FIELDS]));
}

/** Products that are read beside those of a page, at most. */
const MAX_BESIDE = 100;

/** Whether the first page lies in few products of categories, each of which has a position of its own. */
export function isCompact(layout: Layout, pageSize: number): boolean {
  const groups = firstGroups(layout, pageSize);
  const products = groups.reduce((sum, group) => sum + group.products, 0);
  return products <= pageSize + MAX_BESIDE && groups.every(({ categories }) => categories.length === 1);
}

/** Reads the pages of some stores. Whether its layout is still the present one is for the caller to see. */
async function readFirstProducts(
  shared: View['shared'],
  pageSize: number,
  storeIds: readonly string[],
): Promise<Map<string, FirstPage>> {
  const compact = new Map(
    storeIds.flatMap((storeId) => {
      const layout = shared.caches.layouts.get(shared.key(storeId));
      if (layout === undefined || !isCompact(layout, pageSize)) return [];
      const categories = firstGroups(layout, pageSize).flatMap((group) => group.categories);
      return [[storeId, { layout, categories }]];
    }),
  );
  const wanted = new Set([...compact.values()].flatMap(({ categories }) => categories));
  // A category of one store may have the id of one that another store has further down.
  const most = 2 * (pageSize + MAX_BESIDE);
  const found = await readPages(shared.source, 'product', pageSize, storeIds, [
    { $match: { category_id: { $in: [...wanted] } } },
    { $sort: { category_id: 1, ...WITHIN_CATEGORY } },
    { $limit: most },
    PAGE_FIELDS,
  ]);
  return new Map(
    [...found].map(([storeId, { rows, stamp }]): [string, FirstPage] => {
      const used = compact.get(storeId);
      if (used === undefined || rows.length === most) return [storeId, { rows: [], stamp, isAlone: true }];
      const byCategory = Map.groupBy(rows, ({ summary }) => categoryIn(summary ?? ''));
      const ofPage = used.categories.flatMap((id) => byCategory.get(id) ?? []).slice(0, pageSize);
      return [storeId, { rows: ofPage, stamp, layout: used.layout }];
    }),
  );
}

const BEFORE_CATEGORY = '"category_id":';

/** The category that a product's summary names, empty for none: to read it beside would cost as much as all else of the row. */
function categoryIn(summary: string): string {
  const at = summary.indexOf(BEFORE_CATEGORY) + BEFORE_CATEGORY.length;
  return summary[at] === '"' ? summary.slice(at + 1, summary.indexOf('"', at + 1)) : '';
}
