/** Looks at generations of an installation, for tests of rebuilds. */
import type { Db } from 'mongodb';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { findGenerations } from '#shared/read-models/generation.ts';
import { eventually, type Installation } from './installation.ts';
import { unlessUnavailable } from './read-models.ts';

/** The database of one generation. */
export function generationDb({ databases, environment }: Installation, number: number, of = environment): Db {
  return databases.generation(of, number);
}

/** Numbers and states of an environment's generations. */
export async function statesOf(installation: Installation, of = installation.environment): Promise<string[]> {
  const found = await findGenerations(installation.databases, of);
  return found.map(({ number, state }) => `${number} ${state}`);
}

/** Waits until a generation stands at the end of the log. */
export async function generationCaughtUp(
  installation: Installation,
  number: number,
  of = installation.environment,
): Promise<void> {
  const topic = changesTopic(of);
  const admin = installation.kafkaOf(topic).admin();
  await admin.connect();
  try {
    const ends = await admin.fetchTopicOffsets(topic);
    await eventually(`generation ${number} of ${of} has applied everything`, async () => {
      const found = await generationDb(installation, number, of)
        .collection<Checkpoint>(CHECKPOINTS)
        .find({ topic }, { readConcern: 'snapshot' })
        .toArray()
        .catch(unlessUnavailable);
      const positions = new Map(found.map(({ partition, position }) => [partition, position]));
      return ends.every(({ partition, high }) => (positions.get(partition) ?? 0) >= Number(high));
    });
  } finally {
    await admin.disconnect();
  }
}
