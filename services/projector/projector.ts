/** The projector: for each environment a consumer of changes and one of access, and the publisher that feeds Redis. */
import type { Redis } from 'ioredis';
import type { Db, MongoClient } from 'mongodb';
import { createControlIndexes } from '#shared/access/access-keys.ts';
import { createAuditIndexes } from '#shared/access/audit.ts';
import type { Config } from '#shared/config.ts';
import { describeError } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { checkTopics, createKafka } from '#shared/kafka.ts';
import type { Logger } from '#shared/logging.ts';
import { createWriterClient } from '#shared/mongodb.ts';
import {
  CHECKPOINTS,
  checkReadModels,
  createReadModels,
  type DeadLetter,
} from '#shared/read-models/collections.ts';
import { controlDatabase, openLiveGeneration } from '#shared/read-models/generation.ts';
import { checkRedisAtStart } from '#shared/redis-server.ts';
import { createRedisClient } from '#shared/redis.ts';
import { applyAccess } from './access/apply.ts';
import { AccessPublisher } from './access/publisher.ts';
import { AccessReconciler } from './access/reconciler.ts';
import { applyChanges } from './changes/apply.ts';
import type { Checkpoint } from './consumer/checkpoint.ts';
import { type ConsumerOptions, type RunningConsumer, startConsumer } from './consumer/consumer.ts';
import { crashHook } from './crash-hook.ts';
import { createMetrics, type ProjectorMetrics } from './metrics.ts';

/** How long a start waits for Redis; without it everything is applied, and published once it is there. */
const REDIS_READY_MS = 1_000;

export interface RunningProjector {
  metrics: ProjectorMetrics;
  /** Rejects when it cannot go on and the process should end. */
  failed: Promise<never>;
  isLive: () => boolean;
  stop: () => Promise<void>;
}

/**
 * Starts the projector: checks topics, makes read models and indexes that are missing, and begins to apply.
 * @throws {StoreDataError} `topic_unsuitable`, `server_unsuitable` or `generation_unsuitable`, before anything is
 * consumed.
 */
export async function startProjector(config: Config, logger: Logger): Promise<RunningProjector> {
  const metrics = createMetrics();
  const client = createWriterClient(config, 'projector');
  const redis = createRedisClient(config, (error) => logger.debug({ error: describeError(error) }, 'redis'));
  const stopping: (() => Promise<unknown>)[] = [async () => redis.disconnect(), () => client.close()];
  const stop = async () => {
    for (const step of stopping.splice(0).toReversed()) {
      await step().catch((error: unknown) => logger.warn({ error: describeError(error) }, 'stopping'));
    }
  };
  try {
    const failure = await checkRedisAtStart(redis, REDIS_READY_MS);
    if (failure !== null) logger.warn({ error: failure }, 'starting without Redis');
    const consumers = await startConsumers(config, logger, metrics, client, redis, stopping);
    return {
      metrics,
      failed: Promise.race(consumers.map(({ failed }) => failed)),
      isLive: () => consumers.every((consumer) => consumer.isLive()),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startConsumers(
  config: Config,
  logger: Logger,
  metrics: ProjectorMetrics,
  client: MongoClient,
  redis: Redis,
  stopping: (() => Promise<unknown>)[],
): Promise<RunningConsumer[]> {
  const { environments, namePrefix } = config;
  const kafka = createKafka(config, `${namePrefix}.projector`, logger);
  const admin = kafka.admin();
  await admin.connect();
  try {
    await checkTopics(
      admin,
      environments.flatMap((environment) => [changesTopic(environment), accessTopic(environment)]),
    );
  } finally {
    await admin.disconnect();
  }

  const control = controlDatabase(client, namePrefix);
  await createControlIndexes(control);
  await createAuditIndexes(control);
  const readModels = new Map<string, { db: Db; generation: number }>();
  for (const environment of environments) {
    const { db, marker } = await openLiveGeneration(client, namePrefix, environment);
    await createReadModels(db);
    await checkReadModels(db);
    readModels.set(environment, { db, generation: marker.number });
  }

  const publisher = new AccessPublisher({
    redis,
    prefix: namePrefix,
    control,
    readModels: new Map([...readModels].map(([environment, { db }]) => [environment, db])),
    logger,
    metrics,
  });
  stopping.push(() => publisher.stop());
  const reconciler = new AccessReconciler({
    redis,
    prefix: namePrefix,
    control,
    environments,
    logger,
    metrics,
  });
  stopping.push(() => reconciler.stop());

  const insideTransaction = crashHook(config.projector.crashInTransaction);
  const base = (topic: string, groupId: string, db: Db) => ({
    kafka,
    topic,
    groupId,
    sessionTimeoutMs: config.kafka.sessionTimeoutMs,
    concurrentPartitions: config.projector.concurrentPartitions,
    limits: { events: config.projector.sliceEvents, bytes: config.projector.sliceBytes },
    client,
    checkpoints: db.collection<Checkpoint>(CHECKPOINTS),
    logger,
    metrics,
    insideTransaction,
  });
  const consumers: RunningConsumer[] = [];
  const start = async <R>(options: ConsumerOptions<R>) => {
    const consumer = await startConsumer(options);
    consumers.push(consumer);
    stopping.push(() => consumer.stop());
  };
  for (const [environment, { db, generation }] of readModels) {
    const group = `${namePrefix}.${environment}`;
    await start({
      ...base(changesTopic(environment), `${group}.g${generation}`, db),
      write: ({ session }, slice, hopeless) => applyChanges(db, session, slice, hopeless),
      committed: ({ plan, deadLetters }) => {
        countDeadLetters(metrics, environment, deadLetters);
        if (plan === null) return;
        const now = Date.now();
        for (const { entity, time } of plan.applied) {
          metrics.applied.inc({ environment, entity });
          metrics.freshness.observe({ environment }, Math.max(0, now - time) / 1_000);
        }
        if (plan.outdated > 0) metrics.outdated.inc({ environment }, plan.outdated);
        if (plan.applied.some(({ entity }) => entity === 'store')) publisher.sweep();
      },
    });
    await start({
      ...base(accessTopic(environment), `${group}.access`, control),
      write: ({ session }, slice, hopeless) => applyAccess(control, environment, session, slice, hopeless),
      committed: ({ keys, stores, outdated, deadLetters }) => {
        publisher.publish(keys, stores);
        countDeadLetters(metrics, environment, deadLetters);
        metrics.applied.inc({ environment, entity: 'access_key' }, keys.length);
        metrics.applied.inc({ environment, entity: 'store_access' }, stores.length);
        if (outdated > 0) metrics.outdated.inc({ environment }, outdated);
      },
    });
  }
  return consumers;
}

function countDeadLetters(metrics: ProjectorMetrics, environment: string, letters: DeadLetter[]): void {
  for (const { topic, reason } of letters) metrics.deadLetters.inc({ environment, topic, reason });
}
