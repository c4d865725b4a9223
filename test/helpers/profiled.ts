/** Reads commands on an installation's read models from MongoDB's profiler. */
import type { Document } from 'mongodb';
import type { Installation } from './installation.ts';

/**
 * Runs `work` and returns the aggregations on these collections meanwhile.
 * @param which an additional filter.
 */
export async function profiled(
  { databases, environment }: Installation,
  collections: readonly string[],
  act: () => Promise<unknown>,
  which: Document = {},
): Promise<Document[]> {
  const db = databases.generation(environment, 1);
  const began = new Date();
  await db.command({ profile: 2 });
  await act();
  await db.command({ profile: 0 });
  const ns = { $in: collections.map((collection) => `${db.databaseName}.${collection}`) };
  const filter = { ns, 'command.aggregate': { $exists: true }, ...which, ts: { $gte: began } };
  return db.collection('system.profile').find(filter).toArray();
}
