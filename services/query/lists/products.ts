/**
 * Reads one page of the product list in the order of its categories, which no index has. Where they stand is cached, and
 * the stamp in the snapshot of the page proves it, so that as a rule a page is one read.
 */
import type { Document } from 'mongodb';
import { COLLECTIONS, documentId } from '#shared/read-models/collections.ts';
import { type CountedPage, PAGE_FIELDS, type PageRequest, type PageRow, segmentsOf, skippedBy } from '../read/page.ts';
import type { Layout } from '../read/caches.ts';
import type { View } from '../read/shared-reads.ts';
import { inSnapshot, type ReadInSnapshot, readStamp, united } from '../read/snapshot.ts';
import { readTogether } from '../read/together.ts';
import { SEGMENT_INDEX, segmentStages, readLayout, categoryGroupsOf } from './product-layout.ts';

const COLLECTION = COLLECTIONS.product;

/** A page of all products: where the cached layout says that it lies, or by the layout of its own snapshot. */
export async function readByLayout(view: View, request: PageRequest): Promise<CountedPage> {
  const { storeId, shared } = view;
  const key = shared.key(storeId);
  const { layouts } = shared.caches;
  const page = await readByCached(view, layouts.get(key), request);
  if (page !== null) return page;
  return inSnapshot(view, async (reads) => {
    const { layout, stamp } = await readLayout(reads, storeId);
    layouts.set(key, layout);
    const rows = await readPage(reads.read, view, layout, request, {});
    return { rows, stamp, count: stamp?.counts?.product ?? 0 };
  });
}

/** `null` where there is no layout, or the stamp of the page's snapshot names another one. */
async function readByCached(view: View, layout: Layout | undefined, request: PageRequest): Promise<CountedPage | null> {
  if (layout === undefined) return null;
  const segments = segmentsOf(layout.groups, skippedBy(request), request.pageSize);
  const pipelines = segments.map((segment) => segmentStages(view.storeId, segment, {}));
  const { rows, stamp } =
    segments.length === 0
      ? { rows: [], stamp: await readStamp(view) }
      : await readTogether(view, { entity: 'product', index: SEGMENT_INDEX, pipelines });
  if (stamp?.layout !== layout.version) return null;
  const count = stamp?.counts?.product ?? 0;
  return { rows, stamp, count, ...(request.page === 1 ? { isShared: true } : {}) };
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
  const segments = segmentsOf(layout.groups, skippedBy(request), request.pageSize);
  if (segments.length === 0) return [];
  const pipelines = segments.map((segment) => [...segmentStages(view.storeId, segment, filter), PAGE_FIELDS]);
  return read<PageRow>(COLLECTION, united(COLLECTION, pipelines), SEGMENT_INDEX);
}
