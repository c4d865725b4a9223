/**
 * Reads one page of the product list in the order of its categories, which no index has. Where they stand is cached, and
 * the stamp in the snapshot of the page proves it, so that as a rule a page is one read.
 */
import type { Document } from 'mongodb';
import { COLLECTIONS, documentId, type Stamp } from '#shared/read-models/collections.ts';
import { type CountedPage, PAGE_FIELDS, type PageRequest, type PageRow, skippedBy } from '../page.ts';
import type { WholeList } from '../shared-pages.ts';
import { inSnapshot, readSnapshot, type ReadInSnapshot } from '../snapshot.ts';
import { readStamp, stampIn, unionWithStamp } from '../stamp.ts';
import type { View } from '../shared-reads.ts';
import {
  type Layout,
  PIECE_INDEX,
  pieceStages,
  piecesOf,
  readLayout,
  shelvesOf,
  united,
  WITHIN_CATEGORY,
} from './layout.ts';
import { isCompact } from './first-pages.ts';

const COLLECTION = COLLECTIONS.product;
const PRODUCTS: WholeList = { entity: 'product', sort: WITHIN_CATEGORY };

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

interface StampedPage {
  rows: readonly PageRow[];
  stamp: Stamp | null;
}

function counted({ rows, stamp }: StampedPage): CountedPage {
  return { rows, stamp, count: stamp?.counts?.product ?? 0 };
}

/** `null` where there is no layout, or the stamp of the page's snapshot names another one. */
async function readByCached(
  view: View,
  layout: Layout | undefined,
  request: PageRequest,
): Promise<StampedPage | null> {
  if (layout === undefined) return null;
  const { storeId, bounded, shared } = view;
  if (request.page === 1 && isCompact(layout, request.pageSize)) {
    const first = await bounded((signal) => shared.pages.first(PRODUCTS, request.pageSize, storeId, signal));
    if (first !== null) return first.stamp?.layout === first.layout?.version ? first : null;
  }
  const stages = pageStages(view, layout, request, {});
  const rows =
    stages === null
      ? []
      : await readSnapshot<PageRow>(view, COLLECTION, [...stages, unionWithStamp(view)], PIECE_INDEX);
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
    const shelves = shelvesOf(view.storeId, positions, products);
    return {
      rows: await readPage(read, view, { ...layout, shelves }, request, updated),
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
  return stages === null ? [] : read<PageRow>(COLLECTION, stages, PIECE_INDEX);
}

/** The stages that find a page among the products that pass a filter; `null` where there is nothing. */
function pageStages(
  { storeId }: View,
  { shelves }: Layout,
  request: PageRequest,
  filter: Document,
): Document[] | null {
  const pieces = piecesOf(shelves, skippedBy(request), request.pageSize);
  return united(pieces.map((piece) => [...pieceStages(storeId, piece, filter), PAGE_FIELDS]));
}
