/** How much there is still to do, from what stamps count: nobody has to look for it. */
import type { Db } from 'mongodb';
import { ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { COLLECTIONS_WITH_BODIES } from '#shared/read-models/bodies.ts';
import { COLLECTIONS, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { type Rewriting, waiting } from './queue.ts';

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
      { _id: { $in: stores.map(({ _id }) => _id) } },
      { projection: { store_id: 1, counts: 1 }, maxTimeMS: 5_000 },
    )
    .toArray();
  const counts = new Map(stamps.map((stamp) => [stamp._id, stamp.counts ?? {}]));
  const records = stores.reduce((sum, { _id, done }) => sum + recordsLeft(counts.get(_id) ?? {}, done), 0);
  return { stores: stores.length, records };
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
