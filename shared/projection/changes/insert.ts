/**
 * Inserting a slice's documents as a part of the command (decision 0037): the driver's own way serializes each by itself and copies
 * it three times on its way to the socket.
 */
import { type ClientSession, type Db, MongoServerError } from 'mongodb';
import type { ReadModelDocument } from '../../read-models/collections.ts';

/**
 * Characters of texts that one command holds, unless a single document has more. MongoDB takes 16 MiB, and a character may
 * take three bytes; the rest of a document is small.
 */
const MOST_CHARACTERS = 3 * 1_048_576;

interface Inserted {
  writeErrors?: ConstructorParameters<typeof MongoServerError>[0][];
}

/** Inserts documents, with one command as a rule. @throws {MongoServerError} of the first that cannot be inserted. */
export async function insertDocuments(
  db: Db,
  session: ClientSession,
  collection: string,
  documents: readonly ReadModelDocument[],
): Promise<void> {
  for (const part of inParts(documents)) {
    const reply: Inserted = await db.command(
      { insert: collection, documents: part, ordered: false },
      { session },
    );
    // MongoDB tells mistakes of single documents in an answer that is otherwise good.
    const [error] = reply.writeErrors ?? [];
    if (error !== undefined) throw new MongoServerError(error);
  }
}

function* inParts(documents: readonly ReadModelDocument[]): Generator<readonly ReadModelDocument[]> {
  let start = 0;
  let characters = 0;
  for (const [at, document] of documents.entries()) {
    const more = charactersOf(document);
    if (at > start && characters + more > MOST_CHARACTERS) {
      yield documents.slice(start, at);
      start = at;
      characters = 0;
    }
    characters += more;
  }
  if (start < documents.length) yield documents.slice(start);
}

function charactersOf(document: ReadModelDocument): number {
  let characters = 0;
  for (const value of Object.values(document)) if (typeof value === 'string') characters += value.length;
  return characters;
}
