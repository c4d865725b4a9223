/**
 * Makes an environment's first generation, as in a new installation or after MongoDB was lost. The log of access is applied before:
 * nobody is let in by a key that was revoked later, and nothing is applied of a store that was erased.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Admin, askKafka } from '#shared/kafka/client.ts';
import { controlCollections } from '#shared/access/access-keys.ts';
import { judgeErasures } from '#shared/access/erased-stores.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { LogReader } from '#shared/kafka/log-reader.ts';
import { endsOf, hasReached, readLogBounds, sumOf } from '#shared/kafka/positions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { createFirstGeneration, findGenerations } from '#shared/read-models/generation.ts';
import type { Parts } from './parts.ts';

/** A log of access of which nothing is applied for so long is not waited for: a partition has stopped. */
const MAX_STANDSTILL_MS = 20_000;
const POLL_MS = 50;

/** Makes it where the environment has none; the consumer of its access runs. */
export async function makeFirstGeneration(parts: Parts, environment: string): Promise<void> {
  const { databases, kafkas, control, projectionVersion, logger } = parts;
  if ((await findGenerations(databases, environment)).length > 0) return;
  const access = accessTopic(environment);
  await askKafka(kafkas.of(access), (admin) => untilApplied(parts, admin, access));
  const changes = changesTopic(environment);
  await askKafka(kafkas.of(changes), async (admin) => {
    const others = await judgeErasures(controlCollections(control), environment, changes, (judge) =>
      LogReader.with(logServers(parts, admin), changes, judge),
    );
    for (const store of others) {
      logger.warn(
        { environment, store },
        'a store was erased from another log than this one: all that this one holds of it is applied; erase it again if it must go',
      );
    }
  });
  await createFirstGeneration(databases, environment, projectionVersion);
}

/** Waits until what a topic of access holds now is applied, by whichever projector. */
async function untilApplied({ control, logger }: Parts, admin: Admin, topic: string): Promise<void> {
  const ends = endsOf(await readLogBounds(admin, topic));
  let applied = -1;
  for (let movedAt = performance.now(); ; await sleep(POLL_MS)) {
    const positions = await readPositions(control, topic);
    if (hasReached(positions, ends)) return;
    const sum = sumOf(positions);
    if (sum !== applied) [applied, movedAt] = [sum, performance.now()];
    if (performance.now() - movedAt < MAX_STANDSTILL_MS) continue;
    const what = 'the log of access is not applied to its end, and nothing of it for a while';
    return logger.warn({ topic }, `${what}: read models are made all the same`);
  }
}

function logServers({ kafkas, control, config }: Parts, admin: Admin) {
  return {
    config,
    control: () => Promise.resolve(control),
    kafkaOf: (topic: string) => ({
      admin: () => Promise.resolve(admin),
      consumer: async (groupId: string, settings: object) => {
        const consumer = kafkas.of(topic).consumer({ groupId, readUncommitted: false, ...settings });
        await consumer.connect();
        return consumer;
      },
    }),
  };
}
