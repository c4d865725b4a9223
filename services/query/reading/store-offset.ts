/**
 * Filters by date-time are local, and the store's offset lies in the same snapshot as the records: the last one that was seen is taken,
 * and should it be outdated, the read is made once more.
 */
import type { Stamp } from '#shared/read-models/collections.ts';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import { lastSeenOf, remember, type Seen, type View } from './view.ts';
import { offsetOf } from './stamp.ts';

/** The instant, in milliseconds since 1970, of a local date-time that was read as if it were UTC. */
export type ToInstant = (local: number) => number;

/** Reads with what was seen last, until what it was made from proves true. */
export async function readInOffset<R extends { stamp: Stamp | null }>(
  view: View,
  read: (toInstant: ToInstant, seen: Seen) => Promise<R>,
): Promise<R> {
  for (;;) {
    const seen = lastSeenOf(view);
    const shift = offsetMilliseconds(seen.offset);
    let dated = false;
    const result = await read((local) => {
      dated = true;
      return local - shift;
    }, seen);
    remember(view, result.stamp);
    if (!dated || offsetOf(result.stamp) === seen.offset) return result;
  }
}
