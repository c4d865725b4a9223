/**
 * Reads of one generation that requests share: records by their ids, stamps, and pages (decision
 * 0026). Each request gets one snapshot, taken after it arrived, with the stamp of its own store.
 */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities.ts';
import {
  BY_ID,
  COLLECTIONS,
  documentId,
  documentsWith,
  oneOf,
  STAMPS,
  type Stamp,
} from '#shared/read-models/collections.ts';
import { shiftJson } from '#shared/records/stored-json.ts';
import { type BatchLimits, batched, type ReadMany, type ReadOne } from '../batched.ts';
import { asShared } from '../responses/compress.ts';
import type { Caches } from './caches.ts';
import { type PageRow, redacted, redactedFields, shownOf } from './page.ts';
import { readProduct, type Shape, SHAPES } from './shapes.ts';
import type { TakeSlot } from './slots.ts';
import { bufferedOrStreamed, type Portioned } from './streams.ts';
import type { WithDeadline } from '../deadline.ts';
import {
  type Body,
  type Found,
  isTooLarge,
  offsetOf,
  openSnapshot,
  readSnapshot,
  type SnapshotReads,
  type Source,
  stampsIn,
  type StoreView,
  unionWithStamps,
  united,
} from './snapshot.ts';

/** A record in one of its shapes, with the offset of its date-times and the stamp of its store. */
interface StampedBody {
  body: string;
  offset: string;
  stamp: Stamp | null;
}

/**
 * What one request reads from: the records of one store in one generation, until the deadline of
 * the request.
 */
export interface View extends StoreView {
  /** Of the same generation. */
  shared: SharedReads;
}

/** The means of reads that others must not wait for. */
export interface AloneOptions {
  withDeadline: WithDeadline;
  takeSlot: TakeSlot;
  /** Of answers that are sent while they are read. */
  takeStreamSlot: TakeSlot;
}

type Row = { _id: string; offset?: string; erased?: boolean };

interface WantedRecord {
  collection: string;
  shape: Shape;
  /** As of `StoreView`. */
  redactErased: boolean;
}

const LIMITS: BatchLimits = { underWay: 4, ids: 100 };
/** A store with larger records reads those of that kind alone. */
const MAX_SHARED_RECORD_BYTES = 131_072;

/** Reads an answer in portions. The view has a snapshot, in which pages have only ids. */
type ReadPortions = (view: View, reads: SnapshotReads) => Promise<Portioned | null>;

export class SharedReads {
  /** The stamp of a store; `null` where it has none. */
  readonly stamp: ReadOne<Stamp>;
  /**
   * Its deadline holds for each read alone. The requests that wait for a read have deadlines of
   * their own.
   */
  readonly source: Source;
  /** They hold entries of other generations as well. */
  readonly caches: Caches;
  readonly #alone: AloneOptions;
  readonly #readsByKind = new Map<string, ReadOne<unknown>>();
  readonly #answers = new WeakMap<readonly PageRow[], { pageSize: number; found: Found }>();

  constructor(source: Source, caches: Caches, alone: AloneOptions) {
    this.source = source;
    this.caches = caches;
    this.#alone = alone;
    this.stamp = batched((ids) => this.#readStamps(ids), LIMITS);
  }

  /** The key of an entry of this generation in a cache. */
  key(of: string): string {
    return `${this.source.generation.marker.id}/${of}`;
  }

  /**
   * Does a read that may cost much, or whose cost is unknown: in its store's share, with a deadline
   * of its own. Others do not wait for it, and it is answered, however large the store is.
   */
  async alone<T>(view: View, read: (view: View) => Promise<T>): Promise<T> {
    if (view.alone !== undefined) return read(view);
    const { withDeadline, takeSlot } = this.#alone;
    const { release } = await takeSlot(this.key(view.storeId));
    return read({ ...view, withDeadline, alone: {} }).finally(release);
  }

  /**
   * The same for an answer of any size: a large one is sent while it is read, and keeps its slot
   * until it is sent.
   */
  async streamed(view: View, read: ReadPortions): Promise<Found<Body> | null> {
    const { withDeadline, takeStreamSlot } = this.#alone;
    const slot = await takeStreamSlot(this.key(view.storeId));
    const reads = openSnapshot({ ...view, withDeadline, alone: {} });
    const { session } = reads;
    return bufferedOrStreamed(slot, reads, () =>
      read({ ...view, withDeadline, alone: { session, idsOnly: true } }, reads),
    );
  }

  /**
   * Reads with others, unless answers of that kind and store were larger lately, or do not fit into
   * a reply together.
   */
  async sharedUnlessLarge(
    kind: string,
    maxBytes: number,
    readShared: () => Promise<Found | null>,
    readLarge: () => Promise<Found<Body> | null>,
  ): Promise<Found<Body> | null> {
    const { large } = this.caches;
    const key = this.key(kind);
    const noted = (found: Found<Body> | null) => {
      const isLarge =
        found !== null && (!Buffer.isBuffer(found.body) || found.body.length > maxBytes);
      if (isLarge) large.set(key, true);
      return found;
    };
    if (large.has(key)) return noted(await readLarge());
    try {
      return noted(await readShared());
    } catch (error) {
      if (!isTooLarge(error)) throw error;
    }
    return noted(await readLarge());
  }

  /** The record with a document's id (`documentId`); `null` where there is none. */
  record(wanted: WantedRecord, id: string, signal: AbortSignal): Promise<StampedBody | null> {
    const { collection, shape, redactErased } = wanted;
    const kind = `${collection}.${shape}.${redactErased}`;
    return this.together(kind, LIMITS, (ids) => readRecords(this.source, wanted, ids))(id, signal);
  }

  /**
   * The first page that shows these rows. While MongoDB returns the same bytes, the rows are the
   * same object, and the answer is reused. Pages of different sizes may have the same rows.
   */
  answerOf(rows: readonly PageRow[], pageSize: number, make: () => Found): Found {
    const known = this.#answers.get(rows);
    if (known?.pageSize === pageSize) return known.found;
    const found = make();
    asShared(found.body);
    this.#answers.set(rows, { pageSize, found });
    return found;
  }

  /** The read of one item of a kind, which is batched with others of that kind. */
  together<T>(kind: string, limits: BatchLimits, readMany: ReadMany<T>): ReadOne<T> {
    const read =
      (this.#readsByKind.get(kind) as ReadOne<T> | undefined) ?? batched(readMany, limits);
    this.#readsByKind.set(kind, read);
    return read;
  }

  async #readStamps(ids: readonly string[]): Promise<Map<string, Stamp>> {
    const stages = [{ $match: { _id: oneOf(ids) } }];
    const found = await readSnapshot<Stamp>(this.source, STAMPS, stages, { kind: '' });
    return new Map(found.map((stamp) => [stamp._id, stamp]));
  }
}

async function readRecords(
  source: Source,
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
  const rows = await readSnapshot<Row>(source, collection, pipeline, { hint: BY_ID });
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

/** Ids of stores hold no slash, so that the id of a stamp is never that of a document. */
function storeIdOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}

/** The record of this store with an id; `null` where the store has none. */
export async function readRecord(
  view: View,
  collection: string,
  id: string,
  shape: Shape,
): Promise<Found<Body> | null> {
  const { storeId, withDeadline, shared, redactErased } = view;
  const wanted = { collection, shape, redactErased };
  const document = documentId(storeId, id);
  const readShared = async () => {
    const found = await withDeadline((signal) => shared.record(wanted, document, signal));
    return found && recordOf(found);
  };
  const readAlone = async (own: View) => {
    const found = (await readRecords(own, wanted, [document])).get(document);
    return found === undefined ? null : recordOf(found);
  };
  return shared.sharedUnlessLarge(
    `${collection}/${shape}/${storeId}`,
    MAX_SHARED_RECORD_BYTES,
    readShared,
    () =>
      shape === 'product'
        ? shared.streamed(view, (_own, { read }) => readProduct(read, storeId, document))
        : shared.alone(view, readAlone),
  );
}

function recordOf({ stamp, body, offset }: StampedBody): Found {
  return { body: Buffer.from(shiftJson(body, offset, offsetOf(stamp)), 'latin1'), stamp };
}

export async function readStamp(view: View): Promise<Stamp | null> {
  const { storeId, withDeadline, shared, alone } = view;
  if (alone === undefined) return withDeadline((signal) => shared.stamp(storeId, signal));
  const [stamp = null] = await readSnapshot<Stamp>(view, STAMPS, [{ $match: { _id: storeId } }]);
  return stamp;
}

interface SmallRead {
  entity: EntityName;
  /** The index of the first pipeline: for the others none can be named. */
  index: string;
  /** One after the other; without a projection. */
  pipelines: readonly Document[][];
  /** How many keys they examine, if that may be many. */
  keys?: number;
}

/** A record, or a count; where there are several counts, `bound` tells them apart. */
export type SmallRow = PageRow & { count?: number; bound?: number };

interface SmallRows {
  rows: readonly SmallRow[];
  stamp: Stamp | null;
}

/** So many of the largest pages fit into one reply. */
export const TOGETHER: BatchLimits = { underWay: 4, ids: 8 };
/** A read of more pipelines or keys runs alone: others would wait for it. */
const MAX_PIPELINES = 8;
const MAX_KEYS = 4_000;

/**
 * Reads in one aggregate what several requests, of any stores, read by the same index (decision
 * 0026).
 */
export async function readTogether(
  view: View,
  { entity, index, pipelines, keys = 0 }: SmallRead,
): Promise<SmallRows> {
  const { storeId, shared, withDeadline, redactErased } = view;
  const readAll = (source: Source, ids: readonly string[]) =>
    readUnited(source, { entity, index, redactErased }, ids);
  const id = JSON.stringify({ storeId, pipelines });
  const readAlone = () => shared.alone(view, async (own) => (await readAll(own, [id])).get(id));
  const read = shared.together(`${entity}/${index}/${redactErased}`, TOGETHER, (ids) =>
    readAll(shared.source, ids),
  );
  const isSmall = view.alone === undefined && pipelines.length <= MAX_PIPELINES && keys <= MAX_KEYS;
  const found = isSmall ? await withDeadline((signal) => read(id, signal)) : await readAlone();
  return found ?? { rows: [], stamp: null };
}

async function readUnited(
  source: Source,
  { entity, index, redactErased }: Pick<SmallRead, 'entity' | 'index'> & { redactErased: boolean },
  ids: readonly string[],
): Promise<Map<string, SmallRows>> {
  const wanted = ids.map(
    (id) => JSON.parse(id) as Pick<SmallRead, 'pipelines'> & { storeId: string },
  );
  const pipelines = wanted.flatMap((one, of) => {
    // Every row says whose it is, or a store might be shown another's.
    const fields = shownOf({ ...source, redactErased }, entity, {
      count: 1,
      bound: 1,
      of: { $literal: of },
    });
    return one.pipelines.map((pipeline) => [...pipeline, ...fields]);
  });
  const storeIds = new Set(wanted.map(({ storeId }) => storeId));
  const collection = COLLECTIONS[entity];
  const stages = [...united(collection, pipelines), unionWithStamps(...storeIds)];
  const found = await readSnapshot<(SmallRow & { of: number }) | Stamp>(
    source,
    collection,
    stages,
    { hint: index },
  );
  const stamps = stampsIn(found);
  const rows = Map.groupBy(
    found.filter((row) => 'of' in row),
    ({ of }) => of,
  );
  return new Map(
    wanted.map(({ storeId }, of) => [
      ids[of] ?? '',
      { rows: rows.get(of) ?? [], stamp: stamps.get(storeId) ?? null },
    ]),
  );
}
