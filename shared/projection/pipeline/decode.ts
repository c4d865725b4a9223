/** What the messages of a slice say: each is checked by itself, erased stores are left out, and changes are folded by entity. */
import type { LogMessage } from '../../kafka/message.ts';
import { EventRejected } from '../../events/rejection.ts';
import { ChangeReader, type ProjectedChange } from './change-reader.ts';
import { type Stamp, tombstoneId } from '../../read-models/collections.ts';
import type { FindErased } from '../../access/erased-stores.ts';
import { storesNamedBy } from '../dead-letters/letter.ts';
import type { Slice } from '../slice/slice.ts';

/** A change and its place in the slice. */
export interface Entry {
  change: ProjectedChange;
  /** Index of its message in the slice. */
  at: number;
}

/** A message that cannot take effect, and why. */
export interface Rejected {
  at: number;
  rejection: EventRejected;
}

/** Reads messages, in their order; those that are poison apart. */
export function decode(
  messages: readonly LogMessage[],
  reader = new ChangeReader(),
): { entries: Entry[]; rejected: Rejected[] } {
  const entries: Entry[] = [];
  const rejected: Rejected[] = [];
  for (const [at, message] of messages.entries()) {
    try {
      entries.push({ change: reader.read(message), at });
    } catch (error) {
      if (!(error instanceof EventRejected)) throw error;
      rejected.push({ at, rejection: error });
    }
  }
  return { entries, rejected };
}

/** What one entity went through: its entries, versions ascending. */
export interface Chain {
  /** `<entity>/<store id>/<entity id>` */
  key: string;
  entries: Entry[];
  /** Entries that were not above the version before them. */
  outdated: number;
}

/**
 * Folds entries, by `Chain.key`, so that each entity is written once; what it went through is kept: no outcome depends on where slices
 * are cut. One that is not above the one before it can never take effect and is dropped.
 */
export function fold(entries: readonly Entry[]): Map<string, Chain> {
  const chains = new Map<string, Chain>();
  for (const entry of entries) {
    const { entity, storeId, id, sequence } = entry.change;
    const key = tombstoneId(entity, storeId, id);
    const chain = chains.get(key);
    if (chain === undefined) {
      chains.set(key, { key, entries: [entry], outdated: 0 });
    } else if (sequence > (chain.entries.at(-1)?.change.sequence ?? -1)) {
      chain.entries.push(entry);
    } else {
      chain.outdated += 1;
    }
  }
  return chains;
}

interface Decoded {
  entries: Entry[];
  rejected: Rejected[];
}

interface WithoutErased extends Decoded {
  /** How many messages are skipped, as their store was erased after them. */
  passedBy: number;
  /** When the stores were erased that are asked about. */
  erasedAt: ReadonlyMap<string, Date>;
}

/**
 * What a slice says without what it says of stores that were erased. Only a store without a stamp can be one, or one that began anew: an
 * erasure takes the stamp away first, so that no slice of the store continues beside it, and no other store is asked about.
 * @param stamps of the stores that the slice has entries of.
 */
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
