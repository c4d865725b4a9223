/**
 * Reads one page of the product list in the order of its categories, which no index has. Where they stand is cached (`layouts.ts`), and
 * the stamp in the snapshot of the page proves it, so that as a rule a page is one read.
 */
import type { Document } from 'mongodb';
import { COLLECTIONS, documentId, type Stamp } from '#shared/read-models/collections.ts';
import { type CountedPage, PAGE_FIELDS, type PageRequest, type PageRow, skippedBy } from '../page.ts';
import type { WholeList } from '../shared-pages.ts';
import type { ReadInSnapshot } from '../snapshot.ts';
import { readStamp, stampIn, unionWithStamp } from '../stamp.ts';
import { inSnapshot, readSnapshot, type View } from '../view.ts';
import {
  type Layout,
  NO_LAYOUT,
  PIECE_INDEX,
  pieceStages,
  piecesOf,
  shelvesOf,
  united,
  WITHIN_CATEGORY,
} from './layout.ts';
import { isCompact } from './first-pages.ts';
import { readLayout } from './layouts.ts';

const COLLECTION = COLLECTIONS.product;
const PRODUCTS: WholeList = { entity: 'product', sort: WITHIN_CATEGORY };

/** How often a remembered layout may prove outdated before page and layout are read in one snapshot. */
const GUESSES = 2;

/** A page of all products: by the layout that is remembered, as long as the page lies where it says. */
export async function readByLayout(view: View, request: PageRequest): Promise<CountedPage> {
  const { storeId, bounded, shared } = view;
  const readKnown = () => bounded((signal) => shared.layouts.layoutOf(storeId, signal));
  let known = await readKnown();
  for (let guess = 0; guess < GUESSES; guess += 1) {
    const { rows, stamp, layout, present } = await readGuessed(view, known, request);
    const page = { rows, stamp, count: stamp?.counts?.product ?? 0 };
    if (stamp?.layout === layout.version) return page;
    if (present === undefined) shared.layouts.forget(storeId, layout);
    else shared.layouts.remember(storeId, present);
    known = await readKnown();
    // What has moved may stand behind the page.
    if (stamp?.layout === known.version && isSamePage(known, layout, request)) return page;
  }
  return inSnapshot(view, async (read, reads) => {
    const { layout, stamp } = await readLayout(reads, storeId);
    shared.layouts.remember(storeId, layout);
    return {
      rows: await readPage(read, view, layout, request, {}),
      stamp,
      count: stamp?.counts?.product ?? 0,
    };
  });
}

/** Whether a page lies at the same places by two layouts. */
function isSamePage(one: Layout, other: Layout, request: PageRequest): boolean {
  const places = ({ shelves }: Layout) => piecesOf(shelves, skippedBy(request), request.pageSize);
  return JSON.stringify(places(one)) === JSON.stringify(places(other));
}

interface Guessed {
  rows: readonly PageRow[];
  stamp: Stamp | null;
  layout: Layout;
  present?: Layout | undefined;
}

/** A page as a layout says where it lies, that layout, and the stamp of the page's snapshot. */
async function readGuessed(view: View, layout: Layout, request: PageRequest): Promise<Guessed> {
  const { storeId, bounded, shared } = view;
  if (request.page === 1 && isCompact(layout, request.pageSize)) {
    const first = await bounded((signal) => shared.pages.first(PRODUCTS, request.pageSize, storeId, signal));
    if (first !== null) return { layout: NO_LAYOUT, ...first };
  }
  const stages = pageStages(view, layout, request, {});
  if (stages === null) return { rows: [], stamp: await readStamp(view), layout };
  const rows = await readSnapshot<PageRow>(view, COLLECTION, [...stages, unionWithStamp(view)], PIECE_INDEX);
  return { rows, stamp: stampIn(rows), layout };
}

/** What was updated in a window with many products: as all products, but counted by category. */
export function readUpdatedByLayout(
  view: View,
  request: PageRequest,
  updated: Document,
): Promise<CountedPage> {
  return inSnapshot(view, async (read, reads) => {
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
