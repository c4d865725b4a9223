/**
 * Reads of one generation that requests share: records by their ids, stamps, and pages (decision 0026). Each request gets one snapshot,
 * taken after it arrived, with the stamp of its own store.
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
import { type Shape, SHAPES } from './shapes.ts';
import {
  type Found,
  offsetOf,
  readSnapshot,
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
  /** Its deadline holds for each read alone. The requests that wait for a read have deadlines of their own. */
  readonly source: Source;
  /** They hold entries of other generations as well. */
  readonly caches: Caches;
  readonly #readsByKind = new Map<string, ReadOne<unknown>>();
  readonly #answers = new WeakMap<readonly PageRow[], { pageSize: number; found: Found }>();

  constructor(source: Source, caches: Caches) {
    this.source = source;
    this.caches = caches;
    this.stamp = batched((ids) => this.#readStamps(ids), LIMITS);
  }

  /** The key of an entry of this generation in a cache. */
  key(of: string): string {
    return `${this.source.generation.marker.id}/${of}`;
  }

  /** The record with a document's id (`documentId`); `null` where there is none. */
  record(wanted: WantedRecord, id: string, signal: AbortSignal): Promise<StampedBody | null> {
    const { collection, shape, redactErased } = wanted;
    const kind = `${collection}.${shape}.${redactErased}`;
    return this.together(kind, LIMITS, (ids) => this.#readRecords(wanted, ids))(id, signal);
  }

  /**
   * The first page that shows these rows. While MongoDB returns the same bytes, the rows are the same object, and the answer is reused.
   * Pages of different sizes may have the same rows.
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
    const read = (this.#readsByKind.get(kind) as ReadOne<T> | undefined) ?? batched(readMany, limits);
    this.#readsByKind.set(kind, read);
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

/** Ids of stores hold no slash, so that the id of a stamp is never that of a document. */
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

export async function readStamp({ storeId, withDeadline, shared }: View): Promise<Stamp | null> {
  return withDeadline((signal) => shared.stamp(storeId, signal));
}

interface SmallRead {
  entity: EntityName;
  /** The index of the first pipeline: for the others none can be named. */
  index: string;
  /** One after the other; without a projection. */
  pipelines: readonly Document[][];
}

/** A record, or a count; where there are several counts, `bound` tells them apart. */
export type SmallRow = PageRow & { count?: number; bound?: number };

interface SmallRows {
  rows: readonly SmallRow[];
  stamp: Stamp | null;
}

/** So many of the largest pages fit into one reply. */
export const TOGETHER: BatchLimits = { underWay: 4, ids: 8 };
/** A read of more pipelines runs alone: others would wait for it. */
const MAX_PIPELINES = 8;

/** Reads in one aggregate what several requests, of any stores, read by the same index (decision 0026). */
export async function readTogether(view: View, { entity, index, pipelines }: SmallRead): Promise<SmallRows> {
  const { storeId, shared, withDeadline, redactErased } = view;
  const readAll = (source: Source, ids: readonly string[]) => readUnited(source, { entity, index, redactErased }, ids);
  const id = JSON.stringify({ storeId, pipelines });
  const read = shared.together(`${entity}/${index}/${redactErased}`, TOGETHER, (ids) => readAll(shared.source, ids));
  const isSmall = pipelines.length <= MAX_PIPELINES;
  const found = isSmall ? await withDeadline((signal) => read(id, signal)) : (await readAll(view, [id])).get(id);
  return found ?? { rows: [], stamp: null };
}

async function readUnited(
  source: Source,
  { entity, index, redactErased }: Pick<SmallRead, 'entity' | 'index'> & { redactErased: boolean },
  ids: readonly string[],
): Promise<Map<string, SmallRows>> {
  const wanted = ids.map((id) => JSON.parse(id) as Pick<SmallRead, 'pipelines'> & { storeId: string });
  const pipelines = wanted.flatMap((one, of) => {
    // Every row says whose it is, or a store might be shown another's.
    const fields = shownOf({ redactErased }, entity, { count: 1, bound: 1, of: { $literal: of } });
    return one.pipelines.map((pipeline) => [...pipeline, ...fields]);
  });
  const storeIds = new Set(wanted.map(({ storeId }) => storeId));
  const collection = COLLECTIONS[entity];
  const stages = [...united(collection, pipelines), unionWithStamps(...storeIds)];
  const found = await readSnapshot<(SmallRow & { of: number }) | Stamp>(source, collection, stages, { hint: index });
  const stamps = stampsIn(found);
  const rows = Map.groupBy(
    found.filter((row) => 'of' in row),
    ({ of }) => of,
  );
  return new Map(
    wanted.map(({ storeId }, of) => [ids[of] ?? '', { rows: rows.get(of) ?? [], stamp: stamps.get(storeId) ?? null }]),
  );
}
