/** How much there is still to do, from what stamps count: nobody has to look for it. */
import type { Db } from 'mongodb';
import { ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { COLLECTIONS_WITH_BODIES } from '#shared/read-models/bodies.ts';
import { COLLECTIONS, ERASURES, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import type { Erasure } from '#shared/read-models/erasures.ts';
import { type Rewriting, waiting } from '#shared/projection/rewriting/queue.ts';

export interface Left {
  stores: number;
  /** Their records that are not looked at yet. */
  records: number;
}

/** Counts what waits. */
export async function countLeft(db: Db): Promise<Left> {
  const stores = await waiting(db);
  if (stores.length === 0) return { stores: 0, records: 0 };
  const stamps = await db
    .collection<Stamp>(STAMPS)
    .find(
      { _id: { $in: stores.map(({ store_id }) => store_id) } },
      { projection: { store_id: 1, counts: 1 }, maxTimeMS: 5_000 },
    )
    .toArray();
  const counts = new Map(stamps.map((stamp) => [stamp._id, stamp.counts ?? {}]));
  const records = stores.reduce(
    (sum, { store_id, done }) => sum + recordsLeft(counts.get(store_id) ?? {}, done),
    0,
  );
  return { stores: stores.length, records };
}

/** Erasures that are under way, and for how long the oldest has been. */
export async function countErasures(db: Db): Promise<{ erasures: number; oldestSeconds: number }> {
  const collection = db.collection<Erasure>(ERASURES);
  const erasures = await collection.estimatedDocumentCount({ maxTimeMS: 5_000 });
  if (erasures === 0) return { erasures, oldestSeconds: 0 };
  const [oldest] = await collection
    .find({}, { sort: { began_at: 1 }, limit: 1, projection: { began_at: 1 }, maxTimeMS: 5_000 })
    .toArray();
  const beganAt = oldest?.began_at.getTime() ?? Date.now();
  return { erasures, oldestSeconds: Math.max(0, (Date.now() - beganAt) / 1_000) };
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
