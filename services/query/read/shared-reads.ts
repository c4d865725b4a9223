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
  unionOf,
} from './snapshot.ts';

/**
 * What one request reads from: the records of one store in one generation, until the deadline of
 * the request.
 */
export interface View extends StoreView {
  /** Of the same generation. */
  shared: SharedReads;
}

/** The means of reads that others must not wait for. */
interface AloneOptions {
  withDeadline: WithDeadline;
  takeSlot: TakeSlot;
  /** Of answers that are sent while they are read. */
  takeStreamSlot: TakeSlot;
}

type Row = { _id: string; offset?: string; erased?: boolean };

/** Of records and stamps. */
const LIMITS: BatchLimits = { underWay: 4, requests: 100 };
/** A store with larger records reads those of that kind alone. */
const MAX_SHARED_RECORD_BYTES = 131_072;

/** Reads an answer in portions. The view has a snapshot, in which pages have only ids. */
type ReadPortions = (view: View, reads: SnapshotReads) => Promise<Portioned | null>;

export type SharedReads = ReturnType<typeof sharedReads>;

/**
 * @param source its deadline holds for each read alone: the requests that wait for a read have
 *   deadlines of their own.
 * @param caches hold entries of other generations as well.
 */
export function sharedReads(
  source: Source,
  caches: Caches,
  { withDeadline, takeSlot, takeStreamSlot }: AloneOptions,
) {
  const readsByKind = new Map<string, unknown>();
  const answers = new WeakMap<readonly PageRow[], { pageSize: number; found: Found }>();

  /** The key of an entry of this generation in a cache. */
  function key(of: string): string {
    return `${source.generation.marker.id}/${of}`;
  }

  /**
   * Does a read that may cost much, or whose cost is unknown: in its store's share, with a deadline
   * of its own. Others do not wait for it, and it is answered, however large the store is.
   */
  async function alone<T>(view: View, read: (view: View) => Promise<T>): Promise<T> {
    if (view.alone !== undefined) return read(view);
    const { release } = await takeSlot(key(view.storeId));
    return read({ ...view, withDeadline, alone: {} }).finally(release);
  }

  /**
   * The same for an answer of any size: a large one is sent while it is read, and keeps its slot
   * until it is sent.
   */
  async function streamed(view: View, read: ReadPortions): Promise<Found<Body> | null> {
    const slot = await takeStreamSlot(key(view.storeId));
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
  async function sharedUnlessLarge(
    kind: string,
    maxBytes: number,
    readShared: () => Promise<Found | null>,
    readLarge: () => Promise<Found<Body> | null>,
  ): Promise<Found<Body> | null> {
    const { large } = caches;
    const name = key(kind);
    const tooLarge = (error: unknown) => {
      if (isTooLarge(error)) return readLarge();
      throw error;
    };
    const found = await (large.has(name) ? readLarge() : readShared().catch(tooLarge));
    const isLarge =
      found !== null && !(Buffer.isBuffer(found.body) && found.body.length <= maxBytes);
    if (isLarge) large.set(name, true);
    return found;
  }

  /**
   * The first page that shows these rows. While MongoDB returns the same bytes, the rows are the
   * same object, and the answer is reused. Pages of different sizes may have the same rows.
   */
  function answerOf(rows: readonly PageRow[], pageSize: number, make: () => Found): Found {
    const known = answers.get(rows);
    if (known?.pageSize === pageSize) return known.found;
    const found = make();
    asShared(found.body);
    answers.set(rows, { pageSize, found });
    return found;
  }

  /**
   * What a request reads, together with what others of its kind read. Alone if it is large, or if
   * the view is.
   * @param readMany what each of several requests reads, in their order.
   */
  async function readWithOthers<R, T>(
    view: View,
    kind: string,
    request: R,
    readMany: (source: Source, requests: readonly R[]) => ReturnType<ReadMany<R, T>>,
    { isLarge = false, ...limits }: BatchLimits & { isLarge?: boolean } = LIMITS,
  ): Promise<T | null> {
    if (isLarge || view.alone !== undefined) {
      const [found] = await alone(view, (own) => readMany(own, [request]));
      return found ?? null;
    }
    const read =
      (readsByKind.get(kind) as ReadOne<R, T> | undefined) ??
      batched<R, T>((requests) => readMany(source, requests), limits, keyOf);
    readsByKind.set(kind, read);
    return view.withDeadline((signal) => read(request, signal));
  }

  return { source, caches, key, alone, streamed, sharedUnlessLarge, answerOf, readWithOthers };
}

/** Equal requests have equal keys. */
function keyOf(request: unknown): string {
  return typeof request === 'string' ? request : JSON.stringify(request);
}

/** Ids of stores hold no slash, so that the id of a stamp is never that of a document. */
function storeIdOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}

/** The record of this store with an id; `null` if the store has none. */
export async function readRecord(
  view: View,
  collection: string,
  id: string,
  shape: Shape,
): Promise<Found<Body> | null> {
  const { storeId, shared, redactErased } = view;
  const document = documentId(storeId, id);
  const { stages, bodyOf } = SHAPES[shape];
  const readMany = async (source: Source, ids: readonly string[]) => {
    const pipeline = [
      { $match: documentsWith(ids) },
      ...(redactErased ? redactedFields({ summary: 1, whole: 1, offset: 1 }) : stages),
      unionWithStamps(...new Set(ids.map(storeIdOf))),
    ];
    const rows = await readSnapshot<Row>(source, collection, pipeline, { hint: BY_ID });
    const byId = new Map(rows.map((row) => [row._id, row]));
    return ids.map((one): Found | undefined => {
      const row = byId.get(one);
      const body = row?.offset === undefined ? undefined : bodyOf(row);
      if (row?.offset === undefined || body === undefined) return undefined;
      const stamp = (byId.get(storeIdOf(one)) as Stamp | undefined) ?? null;
      const shown = shiftJson(redacted(body, row.erased), row.offset, offsetOf(stamp));
      return { body: Buffer.from(shown, 'latin1'), stamp };
    });
  };
  const kind = `${collection}.${shape}.${redactErased}`;
  const read = (own: View) => shared.readWithOthers(own, kind, document, readMany);
  return shared.sharedUnlessLarge(
    `${collection}/${shape}/${storeId}`,
    MAX_SHARED_RECORD_BYTES,
    () => read(view),
    () =>
      shape === 'product'
        ? shared.streamed(view, (_own, reads) => readProduct(reads.read, storeId, document))
        : shared.alone(view, read),
  );
}

export function readStamp(view: View): Promise<Stamp | null> {
  return view.shared.readWithOthers(view, 'stamp', view.storeId, readStamps);
}

async function readStamps(source: Source, ids: readonly string[]) {
  const stages = [{ $match: { _id: oneOf(ids) } }];
  const found = await readSnapshot<Stamp>(source, STAMPS, stages, { kind: '' });
  const byId = new Map(found.map((stamp) => [stamp._id, stamp]));
  return ids.map((id) => byId.get(id));
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

/** A record, or a count; if there are several counts, `bound` tells them apart. */
export type SmallRow = PageRow & { count?: number; bound?: number };

interface SmallRows {
  rows: readonly SmallRow[];
  stamp: Stamp | null;
}

/** So many of the largest pages fit into one reply. */
export const SMALL_READS: BatchLimits = { underWay: 4, requests: 8 };
/** A read of more pipelines or keys runs alone: others would wait for it. */
const MAX_PIPELINES = 8;
const MAX_KEYS = 4_000;

/** What one store reads by an index. */
interface StoreRead extends Pick<SmallRead, 'pipelines'> {
  storeId: string;
}

/**
 * Reads in one aggregate what several requests, of any stores, read by the same index (decision
 * 0026).
 */
export async function readPipelines(
  view: View,
  { entity, index, pipelines, keys = 0 }: SmallRead,
): Promise<SmallRows> {
  const { storeId, shared, redactErased } = view;
  const collection = COLLECTIONS[entity];
  const readMany = async (source: Source, wanted: readonly StoreRead[]) => {
    const all = wanted.flatMap((one, of) => {
      // Every row says whose it is, or a store might be shown another's.
      const fields = { count: 1, bound: 1, of: { $literal: of } };
      const shown = shownOf({ ...source, redactErased }, entity, fields);
      return one.pipelines.map((pipeline) => [...pipeline, ...shown]);
    });
    const storeIds = new Set(wanted.map((one) => one.storeId));
    const stages = [...unionOf(collection, all), unionWithStamps(...storeIds)];
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
    return wanted.map((one, of) => ({
      rows: rows.get(of) ?? [],
      stamp: stamps.get(one.storeId) ?? null,
    }));
  };
  const isLarge = pipelines.length > MAX_PIPELINES || keys > MAX_KEYS;
  const kind = `${entity}/${index}/${redactErased}`;
  const options = { ...SMALL_READS, isLarge };
  const request = { storeId, pipelines };
  const found = await shared.readWithOthers(view, kind, request, readMany, options);
  return found ?? { rows: [], stamp: null };
}
