/**
 * Reads one page of the product list in the order of its categories, which no index has. Where they stand is cached, and
 * the stamp in the snapshot of the page proves it, so that as a rule a page is one read.
 */
import type { Document } from 'mongodb';
import { COLLECTIONS, documentId } from '#shared/read-models/collections.ts';
import {
  type CountedPage,
  PAGE_FIELDS,
  type PageRequest,
  type PageRow,
  readRowsTogether,
  ROWS_TOGETHER,
  skippedBy,
} from '../read/page.ts';
import type { Layout } from '../read/caches.ts';
import type { View } from '../read/shared-reads.ts';
import { inSnapshot, type ReadInSnapshot, readStamp, type Source } from '../read/snapshot.ts';
import {
  SEGMENT_INDEX,
  segmentStages,
  segmentsOf,
  readLayout,
  categoryGroupsOf,
  unionPipelines,
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

/** A page of more segments is read by itself: others would wait for it. */
const MAX_SEGMENTS = 8;

/** `null` where there is no layout, or the stamp of the page's snapshot names another one. */
async function readByCached(
  view: View,
  layout: Layout | undefined,
  { page, pageSize }: PageRequest,
): Promise<StampedPage | null> {
  if (layout === undefined) return null;
  const { storeId, withDeadline, shared } = view;
  const { length } = segmentsOf(layout.groups, skippedBy({ page, pageSize }), pageSize);
  if (length === 0) {
    const stamp = await readStamp(view);
    return stamp?.layout === layout.version ? { rows: [], stamp } : null;
  }
  const id = JSON.stringify([storeId, page, pageSize]);
  if (length > MAX_SEGMENTS) return (await readPages(view, shared, [id])).get(id) ?? null;
  const read = shared.together('product pages', ROWS_TOGETHER, (ids) => readPages(shared.source, shared, ids));
  return withDeadline((signal) => read(id, signal));
}

/** Reads pages of some stores by their cached layouts, without those whose layout is not the present one. */
async function readPages(
  source: Source,
  shared: View['shared'],
  ids: readonly string[],
): Promise<Map<string, StampedPage>> {
  const wanted = ids.flatMap((id) => {
    const [storeId, page, pageSize] = JSON.parse(id) as [string, number, number];
    const layout = shared.caches.layouts.get(shared.key(storeId));
    if (layout === undefined) return [];
    const segments = segmentsOf(layout.groups, skippedBy({ page, pageSize }), pageSize);
    const pipelines = segments.map((segment) => segmentStages(storeId, segment, {}));
    return [{ id, storeId, version: layout.version, pipelines, isFirst: page === 1 }];
  });
  const found = await readRowsTogether(source, COLLECTION, SEGMENT_INDEX, wanted);
  return new Map(
    found.flatMap(([{ id, version, isFirst }, { rows, stamp }]): [string, StampedPage][] => {
      if (stamp?.layout !== version) return [];
      return [[id, { rows, stamp, ...(isFirst ? { isShared: true } : {}) }]];
    }),
  );
}

/** What was updated in a window with many products: as all products, but counted by category. */
export function readUpdatedByLayout(view: View, request: PageRequest, updated: Document): Promise<CountedPage> {
  return inSnapshot(view, async (reads) => {
    const { read } = reads;
    const { layout, positions, stamp } = await readLayout(reads, view.storeId);
    const counted = await read<{ _id: string; products: number }>(
      COLLECTION,
      [{ $match: { store_id: view.storeId, ...updated } }, { $group: { _id: '$category_id', products: { $sum: 1 } } }],
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
function pageStages({ storeId }: View, { groups }: Layout, request: PageRequest, filter: Document): Document[] | null {
  const segments = segmentsOf(groups, skippedBy(request), request.pageSize);
  return unionPipelines(segments.map((segment) => [...segmentStages(storeId, segment, filter), PAGE_FIELDS]));
}
