/**
 * Creates an environment's first generation, in a new installation or after MongoDB was lost. The
 * log of access is applied before: no revoked key gives access, and no event of an erased store is
 * applied.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { controlCollections } from '#shared/access/access-keys.ts';
import { judgeErasures } from '#shared/access/erased-stores.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { type Cluster, readLogBounds, withCluster } from '#shared/kafka/cluster.ts';
import { createLogReader } from '#shared/kafka/log-reader.ts';
import { endsOf, hasReached, sumOf } from '#shared/kafka/positions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { createFirstGeneration, findGenerations } from '#shared/read-models/generation.ts';
import type { Parts } from './parts.ts';

/**
 * If nothing of the log of access is applied for this time, a partition has stopped: then it is no
 * longer waited for.
 */
const MAX_STANDSTILL_MS = 20_000;
const POLL_MS = 50;

/** Creates it if the environment has none. The consumer of its access runs already. */
export async function makeFirstGeneration(parts: Parts, environment: string): Promise<void> {
  const { databases, kafka, control, projectionVersion, logger } = parts;
  if ((await findGenerations(databases, environment)).length > 0) return;
  const access = accessTopic(environment);
  await withCluster(kafka, (cluster) => waitUntilApplied(parts, cluster, access));
  const changes = changesTopic(environment);
  const others = await withCluster(kafka, (cluster) =>
    judgeErasures(controlCollections(control), environment, changes, () =>
      createLogReader(cluster, control, changes),
    ),
  );
  for (const store of others) {
    logger.warn(
      { environment, store },
      'a store was erased from another log than this one, whose events of it are applied: erase it again if it must go',
    );
  }
  await createFirstGeneration(databases, environment, projectionVersion);
}

/** Waits until any projector has applied what a topic of access holds now. */
async function waitUntilApplied(
  { control, logger }: Parts,
  cluster: Cluster,
  topic: string,
): Promise<void> {
  const ends = endsOf(await readLogBounds(cluster, topic));
  let applied = -1;
  for (let movedAt = performance.now(); ; await sleep(POLL_MS)) {
    const positions = await readPositions(control, topic);
    if (hasReached(positions, ends)) return;
    const sum = sumOf(positions);
    if (sum !== applied) [applied, movedAt] = [sum, performance.now()];
    if (performance.now() - movedAt < MAX_STANDSTILL_MS) continue;
    logger.warn(
      { topic },
      'access log not applied to its end, and no progress for 20 s: first generation created nevertheless; later revocations follow',
    );
    return;
  }
}
