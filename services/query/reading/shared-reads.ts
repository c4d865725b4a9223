/**
 * Reads of one generation that requests share: records by their ids and stamps (decision 0026), first pages, changes and menus. What a
 * request is given lies in one snapshot with the stamp of its store, and that snapshot was taken after the request arrived. Beside them
 * the caches, for the stores of this generation.
 */
import { BY_ID, documentsWith, oneOf, STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import { type BatchLimits, batched, type ReadOne } from '../batched.ts';
import { SharedChanges } from '../feed/shared-changes.ts';
import type { Caches, StampHint } from './caches.ts';
import type { StoredBody } from './found.ts';
import type { Menus } from './menu/menus.ts';
import { readFirstProducts } from './products/first-pages.ts';
import { readByLookup, SharedPages } from './shared-pages.ts';
import { type Shape, SHAPES } from './shapes.ts';
import { readSnapshot, type Source } from './snapshot.ts';
import { offsetOf } from './stamp.ts';

/** What is stored of a record in one of its shapes, with the stamp of its store. */
export interface StampedBody extends StoredBody {
  stamp: Stamp | null;
}

/** What one request reads from: the records of one store in one generation, until the deadline of the request. */
export interface View extends Source {
  storeId: string;
  /** Of the same generation. */
  shared: SharedReads;
  /** Whether records are read together with the erasures that are under way (`masking.ts`). */
  masks: boolean;
}

type Row = { _id: string; offset?: string };

const LIMITS: BatchLimits = { underWay: 4, ids: 100 };

const NO_HINT: StampHint = { offset: DEFAULT_OFFSET, levels: null };

export class SharedReads {
  /** The stamp of a store; `null` where it has none. */
  readonly stamp: ReadOne<Stamp>;
  /** First pages of whole lists. */
  readonly pages: SharedPages;
  /** Pages of change feeds. */
  readonly changes: SharedChanges;
  readonly menus: Menus;
  /** For each read by itself, where an answer takes so many that they have no deadline together. */
  readonly source: Source;
  readonly caches: Caches;
  readonly #records = new Map<string, ReadOne<StampedBody>>();

  /**
   * @param source ends a read that the server keeps; requests that wait for it have deadlines of their own.
   * @param menus those of other generations as well, as the caches are.
   */
  constructor(source: Source, caches: Caches, menus: Menus) {
    this.source = source;
    this.caches = caches;
    this.menus = menus;
    this.pages = new SharedPages((list, pageSize, storeIds) =>
      list.entity === 'product'
        ? readFirstProducts(source, (id) => caches.layouts.get(this.key(id)), pageSize, storeIds)
        : readByLookup(source, list, pageSize, storeIds),
    );
    this.changes = new SharedChanges(source);
    this.stamp = batched((ids) => this.#readStamps(ids), LIMITS);
  }

  /** The key in a cache of something of this generation. */
  key(of: string): string {
    return `${this.source.generation.marker.id}/${of}`;
  }

  /** What was true of a store when its stamp was read last. */
  hintOf(storeId: string): StampHint {
    return this.caches.hints.get(this.key(storeId)) ?? NO_HINT;
  }

  /** Caches what a stamp says, for the next request. */
  cacheHint(storeId: string, stamp: Stamp | null): void {
    const roots = Object.entries(stamp?.ranks ?? {});
    this.caches.hints.set(this.key(storeId), {
      offset: offsetOf(stamp),
      levels: Object.fromEntries(
        roots.flatMap(([tree, { levels }]) => (levels === undefined ? [] : [[tree, levels]])),
      ),
    });
  }

  /** The record of a collection with a document's id (`documentId`); `null` where there is none. `signal` as of `ReadOne`. */
  async record(
    collection: string,
    shape: Shape,
    id: string,
    signal: AbortSignal,
  ): Promise<StampedBody | null> {
    const kind = `${collection}.${shape}`;
    let read = this.#records.get(kind);
    if (read === undefined) {
      read = batched((ids) => this.#readRecords(collection, shape, ids), LIMITS);
      this.#records.set(kind, read);
    }
    return read(id, signal);
  }

  async #readStamps(ids: readonly string[]): Promise<Map<string, Stamp>> {
    const { generation, bounded } = this.source;
    const stamps = generation.db.collection<Stamp>(STAMPS);
    const found = await bounded((signal) => stamps.find({ _id: oneOf(ids) }, { signal }).toArray());
    return new Map(found.map((stamp) => [stamp._id, stamp]));
  }

  async #readRecords(
    collection: string,
    shape: Shape,
    ids: readonly string[],
  ): Promise<Map<string, StampedBody>> {
    const storeIds = [...new Set(ids.map(storeIdOf))];
    const { stages, bodyOf } = SHAPES[shape];
    const pipeline = [
      { $match: documentsWith(ids) },
      ...stages,
      // As they lie there: a projection would cost as much as the read.
      { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: oneOf(storeIds) } }] } },
    ];
    const rows = await readSnapshot<Row>(this.source, collection, pipeline, BY_ID);
    const byId = new Map(rows.map((row) => [row._id, row]));
    const found = new Map<string, StampedBody>();
    for (const id of ids) {
      const row = byId.get(id);
      const body = row?.offset === undefined ? undefined : bodyOf(row);
      if (row?.offset === undefined || body === undefined) continue;
      const stamp = (byId.get(storeIdOf(id)) as Stamp | undefined) ?? null;
      found.set(id, { body, offset: row.offset, stamp });
    }
    return found;
  }
}

/** Ids of stores hold no slash, so that those of stamps and of documents cannot be taken for one another. */
function storeIdOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}
