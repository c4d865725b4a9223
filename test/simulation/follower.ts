/**
 * A client of the change feed with a cursor and a copy, which reads by the query service's cursor
 * rules.
 */
import { COLLECTIONS, type Stamp, STAMPS, TOMBSTONES } from '#shared/read-models/collections.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { presentEpoch } from '#shared/read-models/feed-epochs.ts';
import { encodeCursor, generationMark, readAfter, startAt } from '#query/feed/cursor.ts';
import type { Doc } from './filters.ts';
import { docsOf, type State } from './store.ts';

const KINDS = Object.keys(COLLECTIONS) as EntityName[];

interface Change {
  key: string;
  position: number;
  sequence: number | null;
}

export class Follower {
  readonly storeId: string;
  readonly name: string;
  readonly #pageSize: number;
  #next: string | null = null;
  /** The sequences of delivered records, by `<entity>/<store id>/<id>`. */
  readonly copy = new Map<string, number>();

  constructor(name: string, storeId: string, pageSize: number) {
    this.name = name;
    this.storeId = storeId;
    this.#pageSize = pageSize;
  }

  /** Applies one answer of a generation. @returns whether it was the last for now. */
  poll(state: State, database: string): boolean {
    const mark = generationMark(database);
    const scope = { environment: 'production', storeId: this.storeId, feed: 'all' };
    const after = readAfter(scope, this.#next);
    if (after === null) throw new Error(`${this.name}: its own cursor was refused`);
    const stamp = (state.get(`${database}/${STAMPS}`)?.get(this.storeId)?.doc ??
      null) as Stamp | null;
    const { lastDelivered, skipDeletionsUpTo } = startAt(after, mark, stamp);
    const changes = changesOf(state, database, this.storeId)
      .filter(
        ({ position, sequence }) =>
          position >
          (sequence === null ? Math.max(lastDelivered, skipDeletionsUpTo) : lastDelivered),
      )
      .sort((a, b) => a.position - b.position);
    const page = changes.slice(0, this.#pageSize);
    const more = changes.length > page.length;
    for (const { key, sequence } of page) {
      if (sequence === null) this.copy.delete(key);
      else this.copy.set(key, sequence);
    }
    const snapshotPosition = stamp?.position ?? 0;
    this.#next = encodeCursor(scope, {
      generation: mark,
      epoch: presentEpoch(stamp?.epochs),
      lastDelivered: more ? (page.at(-1)?.position ?? 0) : snapshotPosition,
      snapshotPosition,
      skipDeletionsUpTo: Math.min(skipDeletionsUpTo, snapshotPosition),
    });
    return !more;
  }
}

function changesOf(state: State, database: string, storeId: string): Change[] {
  const of = (collection: string, keyOf: (doc: Doc) => string): Change[] =>
    docsOf(state, database, collection)
      .filter((doc) => doc['store_id'] === storeId)
      .map((doc) => ({
        key: keyOf(doc),
        position: Number(doc['feed_position']),
        sequence: collection === TOMBSTONES ? null : Number(doc['sequence']),
      }));
  return [
    ...KINDS.flatMap((kind) => of(COLLECTIONS[kind], ({ _id }) => `${kind}/${_id}`)),
    ...of(TOMBSTONES, ({ _id }) => _id),
  ];
}

/** The present records of a store, in the form of a copy. */
export function recordsOf(state: State, database: string, storeId: string): Map<string, number> {
  return new Map(
    changesOf(state, database, storeId).flatMap(({ key, sequence }): [string, number][] =>
      sequence === null ? [] : [[key, sequence]],
    ),
  );
}
