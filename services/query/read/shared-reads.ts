/**
 * Reads of one generation that requests share: records by their ids, stamps, and pages (decision 0026). What a
 * request is given lies in one snapshot with the stamp of its own store, and that snapshot was taken after the request arrived. Beside
 * them the caches, for the stores of this generation.
 */
import { oneOf, STAMPS, type Stamp, BY_ID, documentId, documentsWith } from '#shared/read-models/collections.ts';
import { type BatchLimits, batched, type ReadMany, type ReadOne } from '../batched.ts';
import { type PageRow, redacted, redactedFields } from './page.ts';
import type { Caches } from './caches.ts';
import {
  readSnapshot,
  type Source,
  type Found,
  offsetOf,
  type StoredBody,
  type StoreView,
  unionWithStamps,
} from './snapshot.ts';
import { asShared } from '../responses/compress.ts';
import { shiftJson } from '#shared/read-models/local-time.ts';
import { type Shape, SHAPES } from './shapes.ts';

/** What is stored of a record in one of its shapes, with the stamp of its store. */
export interface StampedBody extends StoredBody {
  stamp: Stamp | null;
}

/** What one request reads from: the records of one store in one generation, until the deadline of the request. */
export interface View extends StoreView {
  /** Of the same generation. */
  shared: SharedReads;
}

type Row = { _id: string; offset?: string; erased?: boolean };

interface WantedRecord {
  collection: string;
  shape: Shape;
  /** As of `StoreView`. */
  redactErased: boolean;
}

const LIMITS: BatchLimits = { underWay: 4, ids: 100 };

export class SharedReads {
  /** The stamp of a store; `null` where it has none. */
  readonly stamp: ReadOne<Stamp>;
  /** For each read by itself, where an answer takes so many that they have no deadline together. */
  readonly source: Source;
  readonly caches: Caches;
  /** By what is read. */
  readonly #reads = new Map<string, ReadOne<unknown>>();
  readonly #answers = new WeakMap<readonly PageRow[], Found>();

  /**
   * @param source ends a read that the server keeps; requests that wait for it have deadlines of their own.
   * @param caches those of other generations as well.
   */
  constructor(source: Source, caches: Caches) {
    this.source = source;
    this.caches = caches;
    this.stamp = batched((ids) => this.#readStamps(ids), LIMITS);
  }

  /** The key in a cache of something of this generation. */
  key(of: string): string {
    return `${this.source.generation.marker.id}/${of}`;
  }

  /** The record of a collection with a document's id (`documentId`); `null` where there is none. `signal` as of `ReadOne`. */
  record(wanted: WantedRecord, id: string, signal: AbortSignal): Promise<StampedBody | null> {
    const { collection, shape, redactErased } = wanted;
    const kind = `${collection}.${shape}.${redactErased}`;
    return this.together(kind, LIMITS, (ids) => this.#readRecords(wanted, ids))(id, signal);
  }

  /** The answer that shows a page: made once, and again when a byte of its rows or their stamp is another. */
  answerOf(rows: readonly PageRow[], make: () => Found): Found {
    const known = this.#answers.get(rows);
    if (known !== undefined) return known;
    const made = make();
    asShared(made.body);
    this.#answers.set(rows, made);
    return made;
  }

  /** The read of one of a kind, together with others that are asked for meanwhile. */
  together<T>(kind: string, limits: BatchLimits, readMany: ReadMany<T>): ReadOne<T> {
    const read = (this.#reads.get(kind) as ReadOne<T> | undefined) ?? batched(readMany, limits);
    this.#reads.set(kind, read);
    return read;
  }

  async #readStamps(ids: readonly string[]): Promise<Map<string, Stamp>> {
    const stages = [{ $match: { _id: oneOf(ids) } }];
    const found = await readSnapshot<Stamp>(this.source, STAMPS, stages, { kind: '' });
    return new Map(found.map((stamp) => [stamp._id, stamp]));
  }

  async #readRecords(
    { collection, shape, redactErased }: WantedRecord,
    ids: readonly string[],
  ): Promise<Map<string, StampedBody>> {
    const storeIds = [...new Set(ids.map(storeIdOf))];
    const { stages, bodyOf } = SHAPES[shape];
    const pipeline = [
      { $match: documentsWith(ids) },
      ...(redactErased ? redactedFields({ summary: 1, whole: 1, offset: 1 }) : stages),
      unionWithStamps(...storeIds),
    ];
    const rows = await readSnapshot<Row>(this.source, collection, pipeline, { hint: BY_ID });
    const byId = new Map(rows.map((row) => [row._id, row]));
    const found = new Map<string, StampedBody>();
    for (const id of ids) {
      const row = byId.get(id);
      const body = row?.offset === undefined ? undefined : bodyOf(row);
      if (row?.offset === undefined || body === undefined) continue;
      const stamp = (byId.get(storeIdOf(id)) as Stamp | undefined) ?? null;
      found.set(id, { body: redacted(body, row.erased), offset: row.offset, stamp });
    }
    return found;
  }
}

/** Ids of stores hold no slash, so that those of stamps and of documents cannot be taken for one another. */
function storeIdOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}

/** The record of this store with an id; `null` where the store has none. */
export async function readRecord(view: View, collection: string, id: string, shape: Shape): Promise<Found | null> {
  const { storeId, withDeadline, shared, redactErased } = view;
  const stored = await withDeadline((signal) =>
    shared.record({ collection, shape, redactErased }, documentId(storeId, id), signal),
  );
  if (stored === null) return null;
  const { stamp, body, offset } = stored;
  return { body: Buffer.from(shiftJson(body, offset, offsetOf(stamp)), 'latin1'), stamp };
}
