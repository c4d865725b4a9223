/**
 * What a slice says without what it says of stores that were erased. Only a store without a stamp can be one, or one that began anew:
 * an erasure takes the stamp away first, so that no slice of the store goes on beside it, and no other store is asked about.
 */
import type { FindErased } from '../../access/erased-stores.ts';
import type { Stamp } from '../../read-models/collections.ts';
import type { Entry, Rejected } from '../changes/decode.ts';
import { storesNamedBy } from '../dead-letters/loose-event.ts';
import type { Slice } from '../slice/slice.ts';

interface Decoded {
  entries: Entry[];
  rejected: Rejected[];
}

export interface WithoutErased extends Decoded {
  /** How many messages are passed by. */
  passedBy: number;
  /** When the stores were erased that are asked about. */
  erasedAt: ReadonlyMap<string, Date>;
}

/** @param stamps of the stores that the slice has entries of. */
export async function withoutErasedStores(
  slice: Slice,
  { entries, rejected }: Decoded,
  stamps: ReadonlyMap<string, Stamp>,
  findErased: FindErased,
): Promise<WithoutErased> {
  const { messages } = slice;
  const named = new Map(
    rejected.map(({ at }) => {
      const message = messages[at];
      return [at, message === undefined ? [] : storesNamedBy(message)];
    }),
  );
  const asked = new Set([...named.values()].flat());
  for (const { change } of entries) {
    const stamp = stamps.get(change.storeId);
    if (stamp === undefined || stamp.erased_at !== undefined) asked.add(change.storeId);
  }
  if (asked.size === 0) return { entries, rejected, passedBy: 0, erasedAt: new Map() };
  const erased = await findErased(asked);
  const remains = (at: number, storeIds: readonly string[]) => {
    const message = messages[at];
    return message === undefined || !storeIds.some((storeId) => erased.passesBy(storeId, slice, message));
  };
  const left = {
    entries: entries.filter(({ at, change }) => !asked.has(change.storeId) || remains(at, [change.storeId])),
    rejected: rejected.filter(({ at }) => remains(at, named.get(at) ?? [])),
  };
  const passedBy = entries.length + rejected.length - left.entries.length - left.rejected.length;
  return { ...left, passedBy, erasedAt: erased.times };
}
