/**
 * Reads of changes from one generation: requests share them, whatever stores and kinds they are for. One aggregate brings the
 * stamps and for each request the records and the deletions after its start, all in one snapshot, at the same cost at any depth.
 */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities/index.ts';
import { COLLECTIONS, type Stamp, STAMPS, TOMBSTONES } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import { type BatchLimits, batched, type ReadOne } from '../batched.ts';
import type { Bounded } from '../deadline.ts';
import { maskedFields } from '../reading/masking.ts';
import { idIn } from '../reading/id-in.ts';
import { SNAPSHOT } from '../reading/snapshot.ts';
import type { Start } from './start.ts';

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
}

export interface ChangesRequest extends Start {
  storeId: string;
  entity: EntityName;
  /** How many changes at most. */
  limit: number;
  /** Whether records are read together with the erasures that are under way. */
  masks: boolean;
}

/** A row with the number of the request that it was read for, where there are several. */
type TaggedRow = ChangeRow & { request?: number };

const LIMITS: BatchLimits = { underWay: 4, ids: 16 };
const NOTHING: ChangesRead = { rows: [], stamp: null };

export class SharedChanges {
  readonly #generation: Generation;
  readonly #bounded: Bounded;
  readonly #read: ReadOne<ChangesRead>;

  /** @param bounded ends a read that the server keeps; requests that wait for it have deadlines of their own. */
  constructor(generation: Generation, bounded: Bounded) {
    this.#generation = generation;
    this.#bounded = bounded;
    this.#read = batched((keys) => this.#readMany(keys), LIMITS);
  }

  /** The changes after a start. `signal` as of `ReadOne`. */
  async after(request: ChangesRequest, signal: AbortSignal): Promise<ChangesRead> {
    return (await this.#read(keyOf(request), signal)) ?? NOTHING;
  }

  async #readMany(keys: readonly string[]): Promise<Map<string, ChangesRead>> {
    const requests = keys.map(requestOf);
    const storeIds = [...new Set(requests.map(({ storeId }) => storeId))];
    const pipeline: Document[] = [
      // As they lie there: a projection would cost as much as the read.
      { $match: { _id: idIn(storeIds) } },
      ...requests.flatMap((request, index) =>
        unions(request, requests.length > 1 ? { request: { $literal: index } } : {}),
      ),
    ];
    const rows = await this.#bounded((signal) =>
      this.#generation.db
        .collection(STAMPS)
        .aggregate<Stamp | TaggedRow>(pipeline, { ...SNAPSHOT, signal })
        .toArray(),
    );
    const stamps = new Map<string, Stamp>();
    const found = requests.map((): ChangeRow[] => []);
    for (const row of rows) {
      if ('feed_position' in row) found[row.request ?? 0]?.push(row);
      else stamps.set(row._id, row);
    }
    return new Map(
      requests.map(({ storeId, limit }, index) => {
        const inOrder = (found[index] ?? []).toSorted((a, b) => a.feed_position - b.feed_position);
        return [keys[index] ?? '', { rows: inOrder.slice(0, limit + 1), stamp: stamps.get(storeId) ?? null }];
      }),
    );
  }
}

/** Stages that add what one request is for. @param tag fields that tell whose rows they are. */
function unions(
  { storeId, entity, told, deletionsFrom, limit, masks }: ChangesRequest,
  tag: Document,
): Document[] {
  const page = (match: Document): Document[] => [
    { $match: { store_id: storeId, ...match } },
    { $sort: { feed_position: 1 } },
    { $limit: limit + 1 },
  ];
  const deletion = { feed_position: 1, ...tag };
  const record = { ...deletion, _id: 0, summary: 1, offset: 1 };
  const records = [
    ...page({ feed_position: { $gt: told } }),
    ...(masks ? maskedFields(record) : [{ $project: record }]),
  ];
  const after = Math.max(told, deletionsFrom);
  return [
    { $unionWith: { coll: COLLECTIONS[entity], pipeline: records } },
    // Nothing lies behind the place where the store stands now.
    ...(after === Infinity
      ? []
      : [
          {
            $unionWith: {
              coll: TOMBSTONES,
              pipeline: [...page({ entity, feed_position: { $gt: after } }), { $project: deletion }],
            },
          },
        ]),
  ];
}

/** Requests for the same are one. */
function keyOf({ storeId, entity, told, deletionsFrom, limit, masks }: ChangesRequest): string {
  return [storeId, entity, told, deletionsFrom, limit, masks].join('/');
}

function requestOf(key: string): ChangesRequest {
  const [storeId = '', entity, told, deletionsFrom, limit, masks] = key.split('/');
  return {
    storeId,
    entity: entity as EntityName,
    told: Number(told),
    deletionsFrom: Number(deletionsFrom),
    limit: Number(limit),
    masks: masks === 'true',
  };
}
