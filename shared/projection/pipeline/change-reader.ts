/**
 * Reads the messages of one generation, where there is time for it ahead: while a slice's transaction waits for MongoDB, the messages
 * of the next one are read. Their documents are made at once, for the context that is expected: the state that each is made of
 * is a hundred objects, which would outlive several collections of garbage while MongoDB is asked (decision 0028).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { LogMessage } from '../../kafka/message.ts';
import { type Change, readChange } from '../../events/change.ts';
import type { EventMessage } from '../../events/cloud-event.ts';
import type { ReadModelDocument, Unplaced } from '../../read-models/collections.ts';
import { DEFAULT_OFFSET } from '../../read-models/local-time.ts';
import { customerNamedBy, projectDocument } from '../projections/index.ts';
import type { ProjectionContext } from '../projections/fields.ts';

/** What is kept of a change from its reading until its slice is planned. */
export interface ProjectedChange extends Pick<
  Change,
  'entity' | 'storeId' | 'id' | 'sequence' | 'time' | 'newerVersion'
> {
  deletes: boolean;
  /** The customer whom its state names. */
  customerId: string | null;
  /** The offset that a store's state names. */
  timezoneOffset: string | null;
  /** The document that shows its state. @throws what the projection throws. */
  documentIn: (context: ProjectionContext) => Unplaced<ReadModelDocument>;
}

/** Stores whose last offset is cached: documents are made for it before the stamp is read. */
const CACHED_OFFSETS = 10_000;
/** So many messages are read before others get the processor again. */
const A_TURN = 32;

export class ChangeReader {
  readonly #offsets: LRUCache<string, string>;
  readonly #ahead = new WeakMap<EventMessage, ProjectedChange>();

  /** @param offsets how many it caches: memory is taken for all of them at once. */
  constructor(offsets = CACHED_OFFSETS) {
    this.#offsets = new LRUCache({ max: offsets });
  }

  /** Begins to read messages. @returns what ends it; what is read by then is kept until it is taken. */
  readAhead(messages: readonly LogMessage[]): () => void {
    let isWanted = true;
    void (async () => {
      for (let at = 0; at < messages.length; at += A_TURN) {
        await nextTurn();
        if (!isWanted) return;
        for (const message of messages.slice(at, at + A_TURN)) {
          try {
            if (!this.#ahead.has(message)) this.#ahead.set(message, this.#project(message));
          } catch {
            // The slice that takes the message fails in the same way, and handles it.
          }
        }
      }
    })();
    return () => {
      isWanted = false;
    };
  }

  /** A message's change, and its document. @throws {EventRejected} when it is poison. */
  read(message: EventMessage): ProjectedChange {
    const ahead = this.#ahead.get(message) ?? this.#project(message);
    this.#ahead.delete(message);
    return ahead;
  }

  #project(message: EventMessage): ProjectedChange {
    const change = readChange(message);
    const { entity, storeId, id, sequence, time, newerVersion } = change;
    const expected = { offset: this.#offsets.get(storeId) ?? DEFAULT_OFFSET, customerErased: false };
    const document = change.state === null ? null : draft(change, expected);
    return {
      entity,
      storeId,
      id,
      sequence,
      time,
      ...(newerVersion === undefined ? {} : { newerVersion }),
      deletes: change.state === null,
      customerId: customerNamedBy(change),
      timezoneOffset: entity === 'store' ? (change.state?.timezone_offset ?? null) : null,
      documentIn: (context) => {
        const isExpected = context.offset === expected.offset && !context.customerErased;
        if (isExpected && document !== null) return document;
        this.#offsets.set(storeId, context.offset);
        return projectDocument(readChange(message), context);
      },
    };
  }
}

/** `null` where none can be made: it is tried again when it is needed, and fails there. */
function draft(change: Change, context: ProjectionContext): Unplaced<ReadModelDocument> | null {
  try {
    return projectDocument(change, context);
  } catch {
    return null;
  }
}
