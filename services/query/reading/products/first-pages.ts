/**
 * First pages of the product lists of several stores in one read: pieces of all of them, by the layouts that are remembered, and
 * the stamps that prove them.
 */
import { COLLECTIONS, STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { Bounded } from '../../deadline.ts';
import { idIn } from '../id-in.ts';
import type { PageRow } from '../page.ts';
import type { FirstPage } from '../shared-pages.ts';
import { SNAPSHOT } from '../snapshot.ts';
import { NO_LAYOUT, PIECE_INDEX, pieceStages, piecesOf, united } from './layout.ts';
import type { Layouts } from './layouts.ts';

type Row = (PageRow & { store_id: string; _id?: undefined }) | Stamp;

/** Reads the pages of some stores. Whether its layout is still the present one is for the caller to see. */
export async function readFirstProducts(
  { db }: Generation,
  bounded: Bounded,
  layouts: Layouts,
  pageSize: number,
  storeIds: readonly string[],
): Promise<Map<string, FirstPage>> {
  const used = new Map(storeIds.map((storeId) => [storeId, layouts.known(storeId) ?? NO_LAYOUT]));
  const stages = united(
    [...used].flatMap(([storeId, { shelves }]) =>
      piecesOf(shelves, 0, pageSize).map((piece) => [
        ...pieceStages(storeId, piece, {}),
        { $project: { _id: 0, summary: 1, offset: 1, store_id: 1 } },
      ]),
    ),
  );
  const ofStamps = [{ $match: { _id: idIn(storeIds) } }];
  const rows = await bounded((signal) =>
    (stages === null
      ? db.collection(STAMPS).aggregate<Row>(ofStamps, { ...SNAPSHOT, signal })
      : db
          .collection(COLLECTIONS.product)
          .aggregate<Row>([...stages, { $unionWith: { coll: STAMPS, pipeline: ofStamps } }], {
            ...SNAPSHOT,
            signal,
            hint: PIECE_INDEX,
          })
    ).toArray(),
  );
  const products = new Map<string, PageRow[]>(storeIds.map((storeId) => [storeId, []]));
  const pages = new Map<string, FirstPage>();
  for (const row of rows) {
    if (row._id === undefined) products.get(row.store_id)?.push(row);
    else {
      const storeId = row._id;
      pages.set(storeId, {
        rows: products.get(storeId) ?? [],
        stamp: row,
        layout: used.get(storeId) ?? NO_LAYOUT,
      });
    }
  }
  return pages;
}
