/** The commands that MongoDB got for the read models of an installation, by its profiler. */
import type { Document } from 'mongodb';
import type { Installation } from './installation.ts';

/** Does something and returns the aggregations of these collections meanwhile. @param which narrows them down. */
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
