/**
 * Reads of changes from one generation: requests share them, whatever stores and kinds they are for. One aggregate brings for each
 * request the stamp of its store with the records and the deletions after its start, all in one snapshot, at the same cost at any
 * depth.
 */
import type { Document } from 'mongodb';
import { isDocumentTooLarge } from '#shared/errors.ts';
import type { EntityName } from '#shared/events/entities/index.ts';
import { COLLECTIONS, type Stamp, STAMPS, TOMBSTONES } from '#shared/read-models/collections.ts';
import { type BatchLimits, batched, type ReadOne } from '../batched.ts';
import { redactedFields } from '../read/page.ts';
import { readSnapshot, type Source } from '../read/snapshot.ts';
import { generationMark, type Start } from './cursor.ts';

/** A record that changed, or a deletion: that has no summary, and a tombstone's `_id`. */
export interface ChangeRow {
  _id?: string;
  feed_position: number;
  summary?: string;
  offset?: string;
  /** Whether the customer whom it names is being erased. */
  erased?: boolean;
}

export interface ChangesRead {
  /** In the order of their positions; one more than was asked for says that there are more. */
  rows: readonly ChangeRow[];
  /** `null` while nothing of the store has arrived. */
  stamp: Stamp | null;
  /** The answer, once somebody was given it. */
  body?: Buffer;
}

export interface ChangesRequest extends Start {
  storeId: string;
  entity: EntityName;
  /** How many changes at most. */
  limit: number;
  /** Whether records are read together with the erasures that are under way. */
  redactErased: boolean;
}

/** What is read for one request; of records that do not fit into one document each comes in one of its own. */
type Row = Stamp & {
  /** The request's number, where there are several. */
  request?: number;
  deletions?: ChangeRow[];
  records?: ChangeRow[] | ChangeRow;
};

const LIMITS: BatchLimits = { underWay: 4, ids: 16 };

export class SharedChanges {
  /** How cursors name the generation. */
  readonly mark: string;
  readonly #source: Source;
  readonly #read: ReadOne<ChangesRead>;

  /** @param source ends a read that the server keeps; requests that wait for it have deadlines of their own. */
  constructor(source: Source) {
    this.mark = generationMark(source.generation.marker.id);
    this.#source = source;
    this.#read = batched((keys) => this.#readMany(keys), LIMITS);
  }

  /** The changes after a start. `signal` as of `ReadOne`. */
  async after(request: ChangesRequest, signal: AbortSignal): Promise<ChangesRead> {
    return (await this.#read(keyOf(request), signal)) ?? { rows: [], stamp: null };
  }

  async #readMany(keys: readonly string[]): Promise<Map<string, ChangesRead>> {
    const requests = keys.map(requestOf);
    const rows = await this.#readRows(requests, false).catch((error: unknown) => {
      if (isDocumentTooLarge(error)) return this.#readRows(requests, true);
      throw error;
    });
    const found = new Map<string, ChangesRead>();
    for (const [number, ofRequest] of Map.groupBy(rows, ({ request = 0 }) => request)) {
      const [first] = ofRequest;
      if (first === undefined) continue;
      const { request: _request, deletions = [], records: _records, ...stamp } = first;
      const records = ofRequest.flatMap(({ records: some = [] }) => some);
      found.set(keys[number] ?? '', {
        rows: deletions.length === 0 ? records : merged(records, deletions, requests[number]?.limit ?? 0),
        stamp,
      });
    }
    return found;
  }

  /** @param isApart whether each record comes in a document of its own, since all of them are too large for one. */
  #readRows(requests: readonly ChangesRequest[], isApart: boolean): Promise<Row[]> {
    const [first = [], ...others] = requests.map((request, number) => [
      ...stagesOf(request, requests.length > 1 ? [{ $set: { request: { $literal: number } } }] : []),
      // Right behind the records' $lookup, which then never makes the array.
      ...(isApart ? [{ $unwind: { path: '$records', preserveNullAndEmptyArrays: true } }] : []),
    ]);
    const pipeline = [
      ...first,
      ...others.map((stages) => ({ $unionWith: { coll: STAMPS, pipeline: stages } })),
    ];
    return readSnapshot<Row>(this.#source, STAMPS, pipeline);
  }
}

/** Stages that bring what one request is for. As arrays of one document: rows of their own cost the driver half as much again. */
function stagesOf(
  { storeId, entity, lastDelivered, skipDeletionsUpTo, limit, redactErased }: ChangesRequest,
  tag: Document[],
): Document[] {
  const page = (match: Document): Document[] => [
    { $match: { store_id: storeId, ...match } },
    { $sort: { feed_position: 1 } },
    { $limit: limit + 1 },
  ];
  const record = { _id: 0, feed_position: 1, summary: 1, offset: 1 };
  const records = [
    ...page({ feed_position: { $gt: lastDelivered } }),
    ...(redactErased ? redactedFields(record) : [{ $project: record }]),
  ];
  const after = Math.max(lastDelivered, skipDeletionsUpTo);
  const deletions = [...page({ entity, feed_position: { $gt: after } }), { $project: { feed_position: 1 } }];
  return [
    { $match: { _id: storeId } },
    ...tag,
    // Nothing lies behind the place where the store stands now.
    ...(after === Infinity ? [] : [{ $lookup: { from: TOMBSTONES, pipeline: deletions, as: 'deletions' } }]),
    { $lookup: { from: COLLECTIONS[entity], pipeline: records, as: 'records' } },
  ];
}

/** Both in the order of their positions. */
function merged(
  records: readonly ChangeRow[],
  deletions: readonly ChangeRow[],
  limit: number,
): readonly ChangeRow[] {
  return [...records, ...deletions].toSorted((a, b) => a.feed_position - b.feed_position).slice(0, limit + 1);
}

/** Requests for the same are one. */
function keyOf({
  storeId,
  entity,
  lastDelivered,
  skipDeletionsUpTo,
  limit,
  redactErased,
}: ChangesRequest): string {
  return [storeId, entity, lastDelivered, skipDeletionsUpTo, limit, redactErased].join('/');
}

function requestOf(key: string): ChangesRequest {
  const [storeId = '', entity, lastDelivered, skipDeletionsUpTo, limit, redactErased] = key.split('/');
  return {
    storeId,
    entity: entity as EntityName,
    lastDelivered: Number(lastDelivered),
    skipDeletionsUpTo: Number(skipDeletionsUpTo),
    limit: Number(limit),
    redactErased: redactErased === 'true',
  };
}
