/**
 * Reads one page of the product list, in the order of its categories. Where they stand is remembered (`layouts.ts`), and the
 * stamp in the snapshot of the page proves it, so that as a rule a page is one read.
 */
import type { Document } from 'mongodb';
import { COLLECTIONS, documentId, type Stamp } from '#shared/read-models/collections.ts';
import { id } from '../../parameters/kinds.ts';
import { optional, type Values } from '../../parameters/parameter.ts';
import type { Found } from '../found.ts';
import { readGuessing, type ToInstant } from '../guess.ts';
import { type ListRequest, readList } from '../list.ts';
import {
  type CountedPage,
  foundPage,
  PAGE_FIELDS,
  type PageRequest,
  type PageRow,
  skippedBy,
} from '../page.ts';
import { paging } from '../paging.ts';
import { updatedBetween, updatedRange } from '../range.ts';
import type { WholeList } from '../shared-pages.ts';
import { inSnapshot, readSnapshot, type View } from '../view.ts';
import { readStamp, stampIn, unionWithStamp } from '../stamp.ts';
import type { ReadInSnapshot } from '../snapshot.ts';
import { readWindow } from '../window.ts';
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
import { readLayout } from './layouts.ts';

export const productListParameters = {
  ...paging,
  category_id: optional(id, { description: 'Only products that name this category.', example: 'k1' }),
  ...updatedRange,
};

const COLLECTION = COLLECTIONS.product;
const PRODUCTS: WholeList = { entity: 'product', sort: WITHIN_CATEGORY };

/** How often a remembered layout may prove outdated before page and layout are read in one snapshot. */
const GUESSES = 2;

/** A page of products. */
export async function readProducts(view: View, values: Values<typeof productListParameters>): Promise<Found> {
  const { page, page_size: pageSize, category_id: category, updated_from: from, updated_to: to } = values;
  const isUpdatedBound = from !== null || to !== null;
  const updated = (toInstant: ToInstant) => updatedBetween(from, to, toInstant);
  if (category !== null) {
    const request: ListRequest = {
      entity: 'product',
      filter: (toInstant) => ({ category_id: category, ...updated(toInstant) }),
      sort: WITHIN_CATEGORY,
      page,
      pageSize,
    };
    return isUpdatedBound ? readWindow(view, request, 'by_updated') : readList(view, request);
  }
  const request: PageRequest = { page, pageSize };
  if (!isUpdatedBound) return foundPage(await readWholeList(view, request), request);
  const window: ListRequest = {
    ...request,
    entity: 'product',
    filter: updated,
    arrange: withPlaces(view.storeId),
    sort: { place: 1, ...WITHIN_CATEGORY },
  };
  return readWindow(view, window, 'by_updated', { readWide: () => readWide(view, request, updated) });
}

/** The whole list: by the layout that is remembered, as long as it is the present one. */
async function readWholeList(view: View, request: PageRequest): Promise<CountedPage> {
  const { storeId, bounded, shared } = view;
  for (let guess = 0; guess < GUESSES; guess += 1) {
    const known = await bounded((signal) => shared.layouts.layoutOf(storeId, signal));
    const { rows, stamp, layout } = await readGuessed(view, known, request);
    if (stamp?.layout === layout.version) return { rows, stamp, count: stamp?.counts?.product ?? 0 };
    shared.layouts.forget(storeId, layout);
  }
  return inSnapshot(view, async (read) => {
    const { layout, stamp } = await readLayout(read, storeId);
    shared.layouts.remember(storeId, layout);
    return {
      rows: await readPage(read, view, layout, request, {}),
      stamp,
      count: stamp?.counts?.product ?? 0,
    };
  });
}

interface Guessed {
  rows: readonly PageRow[];
  stamp: Stamp | null;
  layout: Layout;
}

/** A page as a layout says where it lies, that layout, and the stamp of the page's snapshot. */
async function readGuessed(view: View, layout: Layout, request: PageRequest): Promise<Guessed> {
  const { storeId, bounded, shared } = view;
  if (request.page === 1) {
    const first = await bounded((signal) => shared.pages.first(PRODUCTS, request.pageSize, storeId, signal));
    if (first !== null) return { layout: NO_LAYOUT, ...first };
  }
  const stages = pageStages(view, layout, request, {});
  if (stages === null) return { rows: [], stamp: await readStamp(view), layout };
  const rows = await readSnapshot<PageRow>(view, COLLECTION, [...stages, unionWithStamp(view)], PIECE_INDEX);
  return { rows, stamp: stampIn(rows), layout };
}

/** What was updated in a window with many products. */
async function readWide(
  view: View,
  request: PageRequest,
  updated: (toInstant: ToInstant) => Document,
): Promise<Found> {
  const page = await readGuessing(view, (toInstant) =>
    inSnapshot(view, async (read) => {
      const filter = updated(toInstant);
      const { layout, positions, stamp } = await readLayout(read, view.storeId);
      const counted = await read<{ _id: string; products: number }>(
        COLLECTION,
        [
          { $match: { store_id: view.storeId, ...filter } },
          { $group: { _id: '$category_id', products: { $sum: 1 } } },
        ],
        'by_updated',
      );
      const products = new Map(counted.map(({ _id, products }) => [documentId(view.storeId, _id), products]));
      const shelves = shelvesOf(view.storeId, positions, products);
      return {
        rows: await readPage(read, view, { ...layout, shelves }, request, filter),
        stamp,
        count: counted.reduce((sum, { products }) => sum + products, 0),
      };
    }),
  );
  return foundPage(page, request);
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

/** Stages that give every product of a window the place of its category; last where there is none or it is unknown. */
function withPlaces(storeId: string): Document[] {
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
