/**
 * Reads of records by their ids, and of stamps, from one generation: many requests share one (decision 0026). What a request
 * is given lies in one snapshot with the stamp of its store, and that snapshot was taken after the request arrived.
 */
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import { type BatchLimits, batched, type ReadOne } from '../batched.ts';
import type { Bounded } from '../deadline.ts';
import { SharedChanges } from '../feed/shared-changes.ts';
import type { StoredBody } from './found.ts';
import { Menus } from './menu/menus.ts';
import { readSmallMenus, type SmallMenu } from './menu/small.ts';
import { idIn } from './id-in.ts';
import { readFirstProducts } from './products/first-pages.ts';
import { Layouts } from './products/layouts.ts';
import { readByLookup, SharedPages } from './shared-pages.ts';
import { type Shape, SHAPES } from './shapes.ts';
import { SNAPSHOT } from './snapshot.ts';
import { openSnapshot } from './snapshot.ts';

/** What is stored of a record in one of its shapes, with the stamp of its store. */
export interface StampedBody extends StoredBody {
  stamp: Stamp | null;
}

type Row = { _id: string; offset?: string };

const LIMITS: BatchLimits = { underWay: 4, ids: 100 };
/** Each is a whole store. */
const SMALL_MENUS: BatchLimits = { underWay: 4, ids: 8 };

export class SharedReads {
  /** The stamp of a store; `null` where it has none. */
  readonly stamp: ReadOne<Stamp>;
  /** First pages of whole lists. */
  readonly pages: SharedPages;
  /** Pages of change feeds. */
  readonly changes: SharedChanges;
  /** Of product lists. */
  readonly layouts: Layouts;
  readonly menus: Menus;
  /** A menu that is made anew; `null` where it may be so large that it is to be read alone. */
  readonly smallMenu: ReadOne<SmallMenu>;
  /** For each read by itself, where an answer takes so many that they have no deadline together. */
  readonly each: Bounded;
  readonly #generation: Generation;
  readonly #bounded: Bounded;
  readonly #records = new Map<string, ReadOne<StampedBody>>();

  /**
   * @param bounded ends a read that the server keeps; requests that wait for it have deadlines of their own.
   * @param menus those of other generations as well.
   */
  constructor(generation: Generation, bounded: Bounded, menus: Menus = new Menus()) {
    this.each = bounded;
    this.menus = menus;
    this.smallMenu = batched(async (storeIds) => {
      const reads = openSnapshot(generation, bounded);
      try {
        return await readSmallMenus(reads, storeIds);
      } finally {
        await reads.end();
      }
    }, SMALL_MENUS);
    this.#generation = generation;
    this.#bounded = bounded;
    this.layouts = new Layouts(generation, bounded);
    this.pages = new SharedPages((list, pageSize, storeIds) =>
      list.entity === 'product'
        ? readFirstProducts(generation, bounded, this.layouts, pageSize, storeIds)
        : readByLookup(generation, bounded, list, pageSize, storeIds),
    );
    this.changes = new SharedChanges(generation, bounded);
    this.stamp = batched((ids) => this.#readStamps(ids), LIMITS);
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
    const stamps = this.#generation.db.collection<Stamp>(STAMPS);
    const found = await this.#bounded((signal) => stamps.find({ _id: idIn(ids) }, { signal }).toArray());
    return new Map(found.map((stamp) => [stamp._id, stamp]));
  }

  async #readRecords(
    collection: string,
    shape: Shape,
    ids: readonly string[],
  ): Promise<Map<string, StampedBody>> {
    const storeIds = [...new Set(ids.map(storeIdOf))];
    const { stages, bodyOf } = SHAPES[shape];
    const rows = await this.#bounded((signal) =>
      this.#generation.db
        .collection(collection)
        .aggregate<Row>(
          [
            { $match: { _id: idIn(ids) } },
            ...stages,
            // As they lie there: a projection would cost as much as the read.
            { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: idIn(storeIds) } }] } },
          ],
          { ...SNAPSHOT, signal },
        )
        .toArray(),
    );
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
