/**
 * Reads of one generation that requests share: records by their ids, stamps, and first pages of whole lists (decision 0026). What a
 * request is given lies in one snapshot with the stamp of its own store, and that snapshot was taken after the request arrived. Beside
 * them the caches, for the stores of this generation.
 */
import { isDocumentTooLarge } from '#shared/errors.ts';
import type { EntityName } from '#shared/events/entities.ts';
import {
  COLLECTIONS,
  oneOf,
  STAMPS,
  type Stamp,
  BY_ID,
  documentId,
  documentsWith,
} from '#shared/read-models/collections.ts';
import { type BatchLimits, batched, type ReadOne } from '../batched.ts';
import { PAGE_FIELDS, type PageRow, redacted, redactedFields } from './page.ts';
import type { Layout, Caches, StampHint } from './caches.ts';
import {
  readSnapshot,
  type Source,
  type Found,
  offsetOf,
  stampIn,
  type StoredBody,
  type StoreView,
  unionWithStamp,
} from './snapshot.ts';
import { DEFAULT_OFFSET, shiftJson } from '#shared/read-models/local-time.ts';
import { type Shape, SHAPES } from './shapes.ts';

/** All records of a kind, in the order of their list. */
export interface WholeList {
  entity: EntityName;
  sort: Record<string, 1 | -1>;
}

export interface FirstPage {
  rows: readonly PageRow[];
  /** `null` while nothing of the store has arrived. */
  stamp: Stamp | null;
  /** Of products: the layout by which they were found. */
  layout?: Layout;
  /** Whether it could not be read with others. */
  isAlone?: boolean;
}

/** Reads the first pages of some stores; a store of which nothing has arrived has none. It ends by itself, whatever the server does. */
export type ReadPages = (
  list: WholeList,
  pageSize: number,
  storeIds: readonly string[],
) => Promise<ReadonlyMap<string, FirstPage>>;

const NOTHING: FirstPage = { rows: [], stamp: null };

const PAGE_LIMITS: BatchLimits = { underWay: 4, ids: 16 };

/** The field that the records of a store are found in, beside those of its stamp. */
const PAGE = 'page';

export class SharedPages {
  readonly #readPages: ReadPages;
  /** By entity and page size. */
  readonly #reads = new Map<string, ReadOne<FirstPage>>();

  constructor(readPages: ReadPages) {
    this.#readPages = readPages;
  }

  /** The first page of a store's list; `null` where it is to be read alone. `signal` as of `ReadOne`. */
  async first(
    list: WholeList,
    pageSize: number,
    storeId: string,
    signal: AbortSignal,
  ): Promise<FirstPage | null> {
    const kind = `${list.entity}/${pageSize}`;
    let read = this.#reads.get(kind);
    if (read === undefined) {
      read = batched((storeIds) => this.#readPages(list, pageSize, storeIds), PAGE_LIMITS);
      this.#reads.set(kind, read);
    }
    try {
      const page = (await read(storeId, signal)) ?? NOTHING;
      return page.isAlone === true ? null : page;
    } catch (error) {
      // Whose page it was is not told, so that all of them are read alone.
      if (isDocumentTooLarge(error)) return null;
      throw error;
    }
  }
}

/** Reads pages of lists whose order lies in one index. */
export async function readByLookup(
  source: Source,
  { entity, sort }: WholeList,
  pageSize: number,
  storeIds: readonly string[],
): Promise<Map<string, FirstPage>> {
  const stamps = await readSnapshot<Stamp & { [PAGE]: PageRow[] }>(source, STAMPS, [
    { $match: { _id: oneOf(storeIds) } },
    {
      $lookup: {
        from: COLLECTIONS[entity],
        localField: '_id',
        foreignField: 'store_id',
        // No index can be named here. With no filter but the store's, the one in the order of the list wins every trial: it
        // brings a record with every step, and all others bring none before they have read and sorted the whole store.
        pipeline: [{ $sort: sort }, { $limit: pageSize }, PAGE_FIELDS],
        as: PAGE,
      },
    },
  ]);
  return new Map(stamps.map(({ [PAGE]: rows, ...stamp }) => [stamp._id, { rows, stamp }]));
}

/** What is stored of a record in one of its shapes, with the stamp of its store. */
export interface StampedBody extends StoredBody {
  stamp: Stamp | null;
}

/** What one request reads from: the records of one store in one generation, until the deadline of the request. */
export interface View extends StoreView {
  /** Of the same generation. */
  shared: SharedReads;
}

/** The first pages of products, whose order is that of their categories. */
export type ReadUnindexed = (
  source: Source,
  layoutOf: (storeId: string) => Layout | undefined,
  pageSize: number,
  storeIds: readonly string[],
) => ReturnType<ReadPages>;

type Row = { _id: string; offset?: string };

const LIMITS: BatchLimits = { underWay: 4, ids: 100 };

const NO_HINT: StampHint = { offset: DEFAULT_OFFSET, levels: null };

export class SharedReads {
  /** The stamp of a store; `null` where it has none. */
  readonly stamp: ReadOne<Stamp>;
  /** First pages of whole lists. */
  readonly pages: SharedPages;
  /** For each read by itself, where an answer takes so many that they have no deadline together. */
  readonly source: Source;
  readonly caches: Caches;
  readonly #records = new Map<string, ReadOne<StampedBody>>();

  /**
   * @param source ends a read that the server keeps; requests that wait for it have deadlines of their own.
   * @param caches those of other generations as well.
   * @param readFirst reads the first pages of a list that no index has in order.
   */
  constructor(source: Source, caches: Caches, readFirst: ReadUnindexed) {
    this.source = source;
    this.caches = caches;
    this.pages = new SharedPages((list, pageSize, storeIds) =>
      list.entity === 'product'
        ? readFirst(source, (id) => caches.layouts.get(this.key(id)), pageSize, storeIds)
        : readByLookup(source, list, pageSize, storeIds),
    );
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
    const { generation, withDeadline } = this.source;
    const stamps = generation.db.collection<Stamp>(STAMPS);
    const found = await withDeadline((signal) => stamps.find({ _id: oneOf(ids) }, { signal }).toArray());
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

/** The record of this store with an id; `null` where the store has none. */
export async function readRecord(
  view: View,
  collection: string,
  id: string,
  shape: Shape,
): Promise<Found | null> {
  const { storeId, withDeadline, shared } = view;
  const stored = view.redactErased
    ? await readMasked(view, collection, documentId(storeId, id), shape)
    : await withDeadline((signal) => shared.record(collection, shape, documentId(storeId, id), signal));
  if (stored === null) return null;
  const { stamp, body, offset } = stored;
  return { body: Buffer.from(shiftJson(body, offset, offsetOf(stamp)), 'latin1'), stamp };
}

/** Alone: with others' records only those of stores without erasures are read. */
async function readMasked(
  view: View,
  collection: string,
  id: string,
  shape: Shape,
): Promise<StampedBody | null> {
  const rows = await readSnapshot<{ summary?: string; whole?: string; offset?: string; erased?: boolean }>(
    view,
    collection,
    [
      { $match: documentsWith([id]) },
      ...redactedFields({ _id: 0, summary: 1, whole: 1, offset: 1 }),
      unionWithStamp(view),
    ],
    BY_ID,
  );
  const row = rows.find(({ offset }) => offset !== undefined);
  if (row?.offset === undefined) return null;
  const body = SHAPES[shape].bodyOf(row);
  if (body === undefined) return null;
  return { body: redacted(body, row.erased), offset: row.offset, stamp: stampIn(rows) };
}
