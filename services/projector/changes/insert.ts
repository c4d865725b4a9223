/**
 * Inserting a slice's documents as a part of the command (decision 0037): the driver's own way serializes each by itself and copies
 * it three times on its way to the socket.
 */
import { type ClientSession, type Db, MongoServerError } from 'mongodb';
import type { ReadModelDocument } from '#shared/read-models/collections.ts';

/**
 * Characters of texts that one command holds. MongoDB takes 16 MiB, and a character may take three bytes; the rest of a
 * document is small.
 */
const MOST_CHARACTERS = 3 * 1_048_576;

interface Inserted {
  writeErrors?: ConstructorParameters<typeof MongoServerError>[0][];
}

/**
 * Inserts documents in the session's transaction.
 * @throws {MongoServerError} of the first that cannot be inserted.
 */
export async function insertDocuments(
  db: Db,
  session: ClientSession,
  collection: string,
  documents: readonly ReadModelDocument[],
): Promise<void> {
  if (charactersOf(documents) > MOST_CHARACTERS) {
    await db
      .collection<ReadModelDocument>(collection)
      .insertMany([...documents], { session, ordered: false });
    return;
  }
  const reply: Inserted = await db.command({ insert: collection, documents, ordered: false }, { session });
  const [error] = reply.writeErrors ?? [];
  if (error !== undefined) throw new MongoServerError(error);
}

function charactersOf(documents: readonly ReadModelDocument[]): number {
  let characters = 0;
  for (const document of documents) {
    for (const value of Object.values(document)) if (typeof value === 'string') characters += value.length;
  }
  return characters;
}
