/** Backs up a database at one moment and restores it, for tests of restored backups. */
import type { Db, Document } from 'mongodb';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';

export type Backup = Map<string, Document[]>;

/** Reads all documents in one snapshot. */
export function backUp(db: Db): Promise<Backup> {
  return db.client.withSession({ snapshot: true }, async (session) => {
    const backup: Backup = new Map();
    for (const collection of await db.collections()) {
      backup.set(collection.collectionName, await collection.find({}, { session }).toArray());
    }
    return backup;
  });
}

/** Writes all documents back in one transaction, even while others write. */
export async function restore(db: Db, backup: Backup): Promise<void> {
  // From here on, claims of partitions wait.
  const collections = (await db.collections()).toSorted(
    (a, b) => Number(b.collectionName === CHECKPOINTS) - Number(a.collectionName === CHECKPOINTS),
  );
  await db.client.withSession((session) =>
    session.withTransaction(async () => {
      for (const collection of collections) {
        await collection.deleteMany({}, { session });
        const documents = backup.get(collection.collectionName) ?? [];
        if (documents.length > 0) await collection.insertMany(documents, { session });
      }
    }),
  );
}
