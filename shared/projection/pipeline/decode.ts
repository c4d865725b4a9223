/**
 * Decodes the messages of a slice. While a transaction waits for MongoDB, those of the next slice
 * are read ahead, and their documents are made for the expected context: parsed states would
 * survive several garbage collections (decision 0028).
 */
import type { LogMessage } from '../../kafka/message.ts';
import { EventRejected } from '../../events/rejection.ts';
import {
  type Stamp,
  tombstoneId,
  type ReadModelDocument,
  type Unplaced,
} from '../../read-models/collections.ts';
import type { FindErased } from '../../access/erased-stores.ts';
import { storesNamedBy } from '../dead-letters/letter.ts';
import type { Slice } from '../slice/checkpoint.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { type Change, readChange } from '../../events/change.ts';
import type { EventMessage } from '../../events/cloud-event.ts';
import { DEFAULT_OFFSET } from '../../read-models/local-time.ts';
import {
  customerNamedBy,
  projectDocument,
  type ProjectionContext,
} from '../projections/projections.ts';

export interface Entry {
  change: ProjectedChange;
  at: number;
}

export interface Rejected {
  at: number;
  rejection: EventRejected;
}

/** Bytes of messages that are decoded, right or wrong, in ten milliseconds at most. */
const BYTES_A_TURN = 256 * 1_024;

/**
 * Yields the event loop between messages whenever a turn is used up: heartbeats and revocations do
 * not wait for large messages.
 */
function turns(): (message: LogMessage) => Promise<void> | undefined {
  let left = BYTES_A_TURN;
  return ({ value }) => {
    left -= value?.length ?? 0;
    if (left >= 0) return undefined;
    left = BYTES_A_TURN;
    return nextTurn();
  };
}

export async function decode(messages: readonly LogMessage[], reader = new ChangeReader()) {
  const entries: Entry[] = [];
  const rejected: Rejected[] = [];
  const turn = turns();
  for (const [at, message] of messages.entries()) {
    await turn(message);
    try {
      entries.push({ change: reader.read(message), at });
    } catch (error) {
      if (!(error instanceof EventRejected)) throw error;
      rejected.push({ at, rejection: error });
    }
  }
  return { entries, rejected };
}

/** The entries of one entity, versions ascending. */
export interface Chain {
  /** `<entity>/<store id>/<entity id>` */
  key: string;
  entries: Entry[];
  /** Entries that were not above the version before them. */
  outdated: number;
}

/**
 * Groups entries by entity and drops outdated ones. All others stay, so that the result does not
 * depend on how slices are cut.
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

/**
 * Leaves out events of erased stores. Only stores without a stamp, or with `erased_at`, can be
 * erased ones: an erasure removes the stamp first, which conflicts with every slice of the store.
 * So other stores cost no read.
 */
export async function withoutErasedStores(
  slice: Slice,
  { entries, rejected }: Awaited<ReturnType<typeof decode>>,
  stamps: ReadonlyMap<string, Stamp>,
  findErased: FindErased,
) {
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
  const erased = await findErased(asked);
  const remains = (at: number, storeIds: readonly string[]) => {
    const message = messages[at];
    return (
      message === undefined || !storeIds.some((storeId) => erased.skips(storeId, slice, message))
    );
  };
  const left = {
    entries: entries.filter(({ at, change }) => remains(at, [change.storeId])),
    rejected: rejected.filter(({ at }) => remains(at, named.get(at) ?? [])),
  };
  const skipped = entries.length + rejected.length - left.entries.length - left.rejected.length;
  return { ...left, skipped, erasedAt: erased.times };
}

/** A change between reading and planning. */
export interface ProjectedChange extends Omit<Change, 'state' | 'eventId'> {
  deletes: boolean;
  customerId: string | null;
  /** The offset in a store's state. */
  timezoneOffset: string | null;
  /** The document that shows its state. @throws what the projection throws. */
  documentIn: (context: ProjectionContext) => Unplaced<ReadModelDocument>;
}

/** Stores whose last offset is cached, for which documents are made before the stamp is read. */
const CACHED_OFFSETS = 10_000;

export class ChangeReader {
  readonly #offsets: LRUCache<string, string>;
  /** Messages that were read ahead; `null` once taken. Of poison, why it is: that stays. */
  readonly #ahead = new WeakMap<EventMessage, ProjectedChange | EventRejected | null>();

  /** @param offsets how many it caches; memory for all is allocated at once. */
  constructor(offsets = CACHED_OFFSETS) {
    this.#offsets = new LRUCache({ max: offsets });
  }

  /** Reads messages while the event loop is idle, unless `read` comes first. */
  async readAhead(messages: readonly LogMessage[]): Promise<void> {
    await nextTurn();
    const turn = turns();
    for (const message of messages) {
      try {
        await turn(message);
        if (!this.#ahead.has(message)) this.#ahead.set(message, this.#outcome(message));
      } catch {
        // `read` fails in the same way, and its caller handles that.
      }
    }
  }

  /** @throws {EventRejected} for poison. */
  read(message: EventMessage): ProjectedChange {
    const outcome = this.#ahead.get(message) ?? this.#outcome(message);
    this.#ahead.set(message, outcome instanceof EventRejected ? outcome : null);
    if (outcome instanceof EventRejected) throw outcome;
    return outcome;
  }

  #outcome(message: EventMessage): ProjectedChange | EventRejected {
    try {
      return this.#project(message);
    } catch (error) {
      if (error instanceof EventRejected) return error;
      throw error;
    }
  }

  #project(message: EventMessage): ProjectedChange {
    const change = readChange(message);
    const { state, eventId: _eventId, ...about } = change;
    const { storeId } = about;
    const expected = {
      offset: this.#offsets.get(storeId) ?? DEFAULT_OFFSET,
      customerErased: false,
    };
    const document = state === null ? null : draft(change, expected);
    return {
      ...about,
      deletes: state === null,
      customerId: customerNamedBy(change),
      timezoneOffset: change.entity === 'store' ? (change.state?.timezone_offset ?? null) : null,
      documentIn: (context) => {
        const isExpected = context.offset === expected.offset && !context.customerErased;
        if (isExpected && document !== null) return document;
        this.#offsets.set(storeId, context.offset);
        return projectDocument(readChange(message), context);
      },
    };
  }
}

/** `null` if it fails: the attempt is repeated when the document is needed, and fails there. */
function draft(change: Change, context: ProjectionContext): Unplaced<ReadModelDocument> | null {
  try {
    return projectDocument(change, context);
  } catch {
    return null;
  }
}
