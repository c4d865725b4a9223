/** How much there is still to do, from what stamps count: nobody has to look for it. */
import type { Db } from 'mongodb';
import { ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { COLLECTIONS_WITH_BODIES } from '#shared/read-models/bodies.ts';
import { COLLECTIONS, ERASURES, REWRITINGS, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import type { Erasure } from '#shared/read-models/erasures.ts';
import type { Rewriting } from '#shared/projection/rewriting/queue.ts';

export interface Left {
  /** Whether some store is in the queue, for whatever reason. */
  isQueued: boolean;
  /** Those whose offset has moved. */
  stores: number;
  /** Their records that are not looked at yet. */
  records: number;
  /** Erasures that are under way, and for how long the oldest has been. */
  erasures: number;
  oldestSeconds: number;
}

const OPTIONS = { maxTimeMS: 5_000 };

/** Counts what waits. Almost always that is nothing, which one command tells. */
export async function findLeft(db: Db): Promise<Left> {
  const oldest = [{ $sort: { began_at: 1 } }, { $limit: 1 }, { $project: { began_at: 1 } }];
  const rows = await db
    .collection(REWRITINGS)
    .aggregate<Pick<Rewriting, 'store_id' | 'kind' | 'done'> | Pick<Erasure, 'began_at'>>(
      [{ $project: { store_id: 1, kind: 1, done: 1 } }, { $unionWith: { coll: ERASURES, pipeline: oldest } }],
      OPTIONS,
    )
    .toArray();
  const queued = rows.filter((row) => 'kind' in row);
  const moved = queued.filter(({ kind }) => kind === 'offset');
  const erasure = rows.find((row) => 'began_at' in row);
  return {
    isQueued: queued.length > 0,
    stores: moved.length,
    records: await countRecords(db, moved),
    ...(await countErasures(db, erasure?.began_at)),
  };
}

async function countRecords(
  db: Db,
  stores: readonly Pick<Rewriting, 'store_id' | 'done'>[],
): Promise<number> {
  if (stores.length === 0) return 0;
  const stamps = await db
    .collection<Stamp>(STAMPS)
    .find(
      { _id: { $in: stores.map(({ store_id }) => store_id) } },
      { ...OPTIONS, projection: { store_id: 1, counts: 1 } },
    )
    .toArray();
  const counts = new Map(stamps.map((stamp) => [stamp._id, stamp.counts ?? {}]));
  return stores.reduce((sum, { store_id, done }) => sum + recordsLeft(counts.get(store_id) ?? {}, done), 0);
}

async function countErasures(
  db: Db,
  oldest: Date | undefined,
): Promise<Pick<Left, 'erasures' | 'oldestSeconds'>> {
  if (oldest === undefined) return { erasures: 0, oldestSeconds: 0 };
  const erasures = await db.collection<Erasure>(ERASURES).estimatedDocumentCount(OPTIONS);
  return { erasures, oldestSeconds: Math.max(0, (Date.now() - oldest.getTime()) / 1_000) };
}

/** The records of one store that are not looked at yet. */
function recordsLeft(counts: NonNullable<Stamp['counts']>, done: Rewriting['done']): number {
  const reached = done === undefined ? 0 : COLLECTIONS_WITH_BODIES.indexOf(done.collection ?? '');
  return ENTITY_NAMES.reduce((sum, entity) => {
    const place = COLLECTIONS_WITH_BODIES.indexOf(COLLECTIONS[entity]);
    if (place < reached) return sum;
    const looked = done !== undefined && place === reached ? done.looked : 0;
    return sum + Math.max(0, (counts[entity] ?? 0) - looked);
  }, 0);
}
