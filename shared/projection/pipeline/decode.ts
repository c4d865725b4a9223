/**
 * Decodes the messages of a slice. While a transaction waits for MongoDB, those of the next slice are read ahead, and their documents are
 * made for the expected context: parsed states would survive several garbage collections (decision 0028).
 */
import type { LogMessage } from '../../kafka/message.ts';
import { EventRejected } from '../../events/rejection.ts';
import { type Stamp, tombstoneId, type ReadModelDocument, type Unplaced } from '../../read-models/collections.ts';
import type { FindErased } from '../../access/erased-stores.ts';
import { storesNamedBy } from '../dead-letters/letter.ts';
import type { Slice } from '../slice/checkpoint.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { type Change, readChange } from '../../events/change.ts';
import type { EventMessage } from '../../events/cloud-event.ts';
import { DEFAULT_OFFSET } from '../../read-models/local-time.ts';
import { customerNamedBy, projectDocument, type ProjectionContext } from '../projections/projections.ts';

export interface Entry {
  change: ProjectedChange;
  at: number;
}

export interface Rejected {
  at: number;
  rejection: EventRejected;
}

export function decode(messages: readonly LogMessage[], reader = new ChangeReader()) {
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

/** The entries of one entity, versions ascending. */
export interface Chain {
  /** `<entity>/<store id>/<entity id>` */
  key: string;
  entries: Entry[];
  /** Entries that were not above the version before them. */
  outdated: number;
}

/** Groups entries by entity and drops outdated ones. All others stay, so that the result does not depend on how slices are cut. */
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
 * Leaves out events of erased stores. Only stores without a stamp, or with `erased_at`, can be erased ones: an erasure removes the stamp
 * first, which conflicts with every slice of the store. So other stores cost no read.
 */
export async function withoutErasedStores(
  slice: Slice,
  { entries, rejected }: ReturnType<typeof decode>,
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
  if (asked.size === 0) return { entries, rejected, skipped: 0, erasedAt: new Map<string, Date>() };
  const erased = await findErased(asked);
  const remains = (at: number, storeIds: readonly string[]) => {
    const message = messages[at];
    return message === undefined || !storeIds.some((storeId) => erased.skips(storeId, slice, message));
  };
  const left = {
    entries: entries.filter(({ at, change }) => !asked.has(change.storeId) || remains(at, [change.storeId])),
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
/** Messages that are read ahead before the event loop is yielded. */
const A_TURN = 32;

export class ChangeReader {
  readonly #offsets: LRUCache<string, string>;
  /** Messages that were read ahead; `null` once taken. */
  readonly #ahead = new WeakMap<EventMessage, ProjectedChange | null>();

  /** @param offsets how many it caches; memory for all is allocated at once. */
  constructor(offsets = CACHED_OFFSETS) {
    this.#offsets = new LRUCache({ max: offsets });
  }

  /** Reads messages while the event loop is idle, unless `read` comes first. */
  async readAhead(messages: readonly LogMessage[]): Promise<void> {
    for (let at = 0; at < messages.length; at += A_TURN) {
      await nextTurn();
      for (const message of messages.slice(at, at + A_TURN)) {
        try {
          if (!this.#ahead.has(message)) this.#ahead.set(message, this.#project(message));
        } catch {
          // `read` fails in the same way, and its caller handles that.
        }
      }
    }
  }

  read(message: EventMessage): ProjectedChange {
    const ahead = this.#ahead.get(message);
    this.#ahead.set(message, null);
    return ahead ?? this.#project(message);
  }

  #project(message: EventMessage): ProjectedChange {
    const change = readChange(message);
    const { state, eventId: _eventId, ...about } = change;
    const { storeId } = about;
    const expected = { offset: this.#offsets.get(storeId) ?? DEFAULT_OFFSET, customerErased: false };
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
