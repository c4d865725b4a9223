/** Reads one record, whole or as its summary, from one snapshot. */
import { documentId } from '#shared/read-models/collections.ts';
import { bodyIn, type Found } from './found.ts';
import { offsetOf, readSnapshot, stampIn, unionWithStamp, type View } from './view.ts';

type Row = Partial<Record<'summary' | 'whole' | 'offset', string>>;

/** The record of this store with an id; `null` where the store has none. */
export async function readRecord(
  view: View,
  collection: string,
  id: string,
  shape: 'summary' | 'whole',
): Promise<Found | null> {
  const rows = await readSnapshot<Row>(view, collection, [
    { $match: { _id: documentId(view.storeId, id) } },
    { $project: { _id: 0, [shape]: 1, offset: 1 } },
    unionWithStamp(view),
  ]);
  const stamp = stampIn(rows);
  for (const { [shape]: body, offset } of rows) {
    if (body !== undefined && offset !== undefined) {
      return { body: bodyIn(offsetOf(stamp), { body, offset }), stamp };
    }
  }
  return null;
}
