/** Reads one record, whole or as its summary, from one snapshot. */
import { documentId } from '#shared/read-models/collections.ts';
import { bodyIn, type Found } from './found.ts';
import type { Shape } from './shapes.ts';
import { offsetOf, type View } from './view.ts';

/** The record of this store with an id; `null` where the store has none. */
export async function readRecord(
  { storeId, bounded, shared }: View,
  collection: string,
  id: string,
  shape: Shape,
): Promise<Found | null> {
  const stored = await bounded((signal) => shared.record(collection, shape, documentId(storeId, id), signal));
  if (stored === null) return null;
  const { stamp } = stored;
  return { body: bodyIn(offsetOf(stamp), stored), stamp };
}
