/** Reads in one snapshot of all databases, and again where the server cannot give it yet. */
import type { ClientSession, MongoClient } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '#shared/errors.ts';

/** A collection that was just made is in no snapshot for a moment; an election takes longer. */
const PATIENCE_MS = 15_000;

/** Runs `read` with a snapshot of its own. */
export async function inSnapshot<T>(
  client: MongoClient,
  read: (session: ClientSession) => Promise<T>,
): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; ; await sleep(100)) {
    try {
      return await client.withSession({ snapshot: true }, read);
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > end) throw error;
    }
  }
}
