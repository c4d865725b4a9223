/** Reads one record, whole or as its summary, from one snapshot. */
import { BY_ID, documentId, documentsWith } from '#shared/read-models/collections.ts';
import { shiftBody } from '#shared/read-models/local-time.ts';
import type { Found } from './found.ts';
import { masked, maskedFields } from './masking.ts';
import { type Shape, SHAPES } from './shapes.ts';
import { readSnapshot } from './snapshot.ts';
import { offsetOf, stampIn, unionWithStamp } from './stamp.ts';
import type { StampedBody, View } from './shared-reads.ts';

/** The record of this store with an id; `null` where the store has none. */
export async function readRecord(
  view: View,
  collection: string,
  id: string,
  shape: Shape,
): Promise<Found | null> {
  const { storeId, bounded, shared } = view;
  const stored = view.masks
    ? await readMasked(view, collection, documentId(storeId, id), shape)
    : await bounded((signal) => shared.record(collection, shape, documentId(storeId, id), signal));
  if (stored === null) return null;
  const { stamp, body, offset } = stored;
  return { body: shiftBody(body, offset, offsetOf(stamp)), stamp };
}

/** Alone: with others' records only those of stores without erasures are read. */
async function readMasked(
  view: View,
  collection: string,
  id: string,
  shape: Shape,
): Promise<StampedBody | null> {
  const rows = await readSnapshot<{ summary?: string; whole?: string; offset?: string; erased?: boolean }>(
    view,
    collection,
    [
      { $match: documentsWith([id]) },
      ...maskedFields({ _id: 0, summary: 1, whole: 1, offset: 1 }),
      unionWithStamp(view),
    ],
    BY_ID,
  );
  const row = rows.find(({ offset }) => offset !== undefined);
  if (row?.offset === undefined) return null;
  const body = SHAPES[shape].bodyOf(row);
  if (body === undefined) return null;
  return { body: masked(body, row.erased), offset: row.offset, stamp: stampIn(rows) };
}
