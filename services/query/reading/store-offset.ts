/**
 * Filters by date-time are local, and the store's offset lies in the same snapshot as the records: the cached one is taken, and
 * if it is outdated, the read is made once more.
 */
import type { Stamp } from '#shared/read-models/collections.ts';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import { hintOf, cacheHint, type StampHint, type View } from './view.ts';
import { offsetOf } from './stamp.ts';

/** The instant, in milliseconds since 1970, of a local date-time that was read as if it were UTC. */
export type ToInstant = (local: number) => number;

/** Reads with the cached offset, until the stamp of the same snapshot has that offset. */
export async function readInOffset<R extends { stamp: Stamp | null }>(
  view: View,
  read: (toInstant: ToInstant, hint: StampHint) => Promise<R>,
): Promise<R> {
  for (;;) {
    const hint = hintOf(view);
    const shift = offsetMilliseconds(hint.offset);
    let dated = false;
    const result = await read((local) => {
      dated = true;
      return local - shift;
    }, hint);
    cacheHint(view, result.stamp);
    if (!dated || offsetOf(result.stamp) === hint.offset) return result;
  }
}
