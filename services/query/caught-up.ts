/** Waits, before requests move on to another generation, until that shows what they have seen. */
import type { MongoClient } from 'mongodb';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import { pause } from '#shared/pause.ts';

/** The pointer rules: after this time the other is taken as it is. */
const PATIENCE_MS = 300;
const LOOK_MS = 10;

/** Resolves when a generation is as far as another, seen in one snapshot of both, or after a moment. */
export async function untilCaughtUp(
  client: MongoClient,
  generation: Generation,
  other: Generation,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  do {
    if (await isCaughtUp(client, generation, other)) return;
  } while (performance.now() < end && (await pause(LOOK_MS, signal)));
}

function isCaughtUp(client: MongoClient, generation: Generation, other: Generation): Promise<boolean> {
  return client.withSession({ snapshot: true }, async (session) => {
    const positions = async ({ db }: Generation) => {
      const checkpoints = db.collection<{ _id: string; position: number }>(CHECKPOINTS);
      const found = await checkpoints.find({}, { session, projection: { position: 1 } }).toArray();
      return new Map(found.map(({ _id, position }) => [_id, position]));
    };
    const theirs = await positions(other);
    const ours = await positions(generation);
    return [...theirs].every(([id, position]) => (ours.get(id) ?? 0) >= position);
  });
}
