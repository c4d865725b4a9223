/** Makes an installation's topics, and waits until all messages published before can be read. */
import type { Db } from 'mongodb';
import { controlCollections } from '#shared/access/access-keys.ts';
import { findPending } from '#shared/access/grants.ts';
import { accessTopic, changesTopic, topicsOf } from '#shared/events/topics.ts';
import { askKafka, createTopics, type Kafka } from '#shared/kafka/client.ts';
import { readLogBounds, withCluster } from '#shared/kafka/cluster.ts';
import { endsOf, missingBetween, type Positions } from '#shared/kafka/positions.ts';
import { isUnavailable } from '#shared/errors.ts';
import { pause, withTimeLimit } from '#shared/waiting.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { type Databases, findLiveGeneration } from '#shared/read-models/generation.ts';

const MAX_MESSAGE_BYTES = 10 * 1_048_576;
const POLL_MS = 20;

/** Makes those that are missing. */
export async function makeTopics(
  kafka: Kafka,
  environments: readonly string[],
  partitions: number,
): Promise<void> {
  const config = { 'max.message.bytes': String(MAX_MESSAGE_BYTES) };
  await askKafka(kafka, (admin) =>
    createTopics(admin, environments.flatMap(topicsOf), { partitions, config }),
  );
}

export interface Places {
  kafka: Kafka;
  databases: Databases;
  environment: string;
}

/**
 * Waits until the projector's checkpoints have reached the present ends of both topics, and Redis
 * knows every key.
 */
export async function settle(
  places: Places,
  limitMs: number,
  ...stopping: readonly AbortSignal[]
): Promise<void> {
  const { kafka, environment } = places;
  const ends = await withCluster(kafka, async (cluster) => ({
    changes: endsOf(await readLogBounds(cluster, changesTopic(environment))),
    access: endsOf(await readLogBounds(cluster, accessTopic(environment))),
  }));
  let missing = '';
  const late = () => new Error(`not applied within ${limitMs / 1_000} s: ${missing}`);
  await withTimeLimit(limitMs, late, async (signal) => {
    do missing = await whatIsMissing(places, ends).catch(unavailable);
    while (missing !== '' && (await pause(POLL_MS, AbortSignal.any([signal, ...stopping]))));
  });
}

/**
 * A busy machine may answer too late for the client's time limit: it is asked again.
 * @throws every other error.
 */
function unavailable(error: unknown): string {
  if (!isUnavailable(error)) throw error;
  return 'MongoDB does not answer';
}

/** The first missing part in words; empty when nothing is missing. */
async function whatIsMissing(
  { databases, environment }: Places,
  ends: Record<'changes' | 'access', Positions>,
) {
  const live = await findLiveGeneration(databases, environment);
  const { control } = databases;
  const missing =
    (await behind(live?.db ?? null, changesTopic(environment), ends.changes)) ??
    (await behind(control, accessTopic(environment), ends.access));
  if (missing !== null) return missing;
  const { keys, stores, sessions } = await findPending(controlCollections(control), [environment]);
  return keys.length + stores.length + sessions.length === 0 ? '' : 'grants in Redis';
}

async function behind(db: Db | null, topic: string, ends: Positions): Promise<string | null> {
  // Answers come from snapshots, which are a moment behind other reads.
  const positions =
    db === null
      ? new Map<number, number>()
      : await readPositions(db, topic, { readConcern: 'snapshot' });
  const missing = missingBetween(positions, ends);
  return missing === 0 ? null : `${missing} messages of ${topic}`;
}
