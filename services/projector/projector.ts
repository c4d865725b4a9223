/**
 * The projector: for each environment a consumer of changes for every generation of this release and one of access,
 * and the publisher that feeds Redis.
 */
import type { Kafka } from 'kafkajs';
import type { Db } from 'mongodb';
import { allEnded } from '#shared/all-ended.ts';
import { createControlIndexes } from '#shared/access/access-keys.ts';
import { createAuditIndexes } from '#shared/access/audit.ts';
import type { Config } from '#shared/config.ts';
import { describeError } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { checkTopics, createKafka } from '#shared/kafka.ts';
import { PerKafka } from '#shared/kafka/per-kafka.ts';
import type { Logger } from '#shared/logging.ts';
import { createWriterClient } from '#shared/mongodb.ts';
import { watchPool } from '#shared/mongodb-pool.ts';
import { Databases } from '#shared/read-models/databases.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { createFirstGeneration, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { checkRedisAtStart } from '#shared/redis-server.ts';
import type { Tracing } from '#shared/tracing.ts';
import type { RedisMasters } from '#shared/redis-masters.ts';
import { createRedis } from '#shared/redis.ts';
import { applyAccess } from '#shared/projection/access/apply.ts';
import { AccessPublisher } from './access/publisher.ts';
import { AccessReconciler } from './access/reconciler.ts';
import { TreeCache } from '#shared/projection/ranking/tree-cache.ts';
import { applyWithCheckpoint, type Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { type RunningConsumer, startConsumer } from './consumer/consumer.ts';
import { createDroppedIndexes } from '#shared/projection/dead-letters/dropped.ts';
import { GenerationFollower } from './generations/follower.ts';
import { Pace } from './generations/pace.ts';
import { projectGeneration, type ProjectOptions } from './generations/project.ts';
import { LetterExpiry } from './dead-letters/expiry-loop.ts';
import { countDeadLetters, createMetrics, type ProjectorMetrics } from './metrics.ts';
import { onceReached } from './reached.ts';
import { readStatus, type Status } from './status/status.ts';

/** How long a start waits for Redis; without it everything is applied, and published once it is there. */
const REDIS_READY_MS = 1_000;

export interface RunningProjector {
  metrics: ProjectorMetrics;
  /** Rejects when it cannot go on and the process should end. */
  failed: Promise<never>;
  isLive: () => boolean;
  /** How everything is, for people. */
  status: () => Promise<Status>;
  stop: () => Promise<void>;
}

export interface ProjectorOptions {
  /** The release's, unless a test plays another release. */
  projectionVersion?: number;
  /** Where it measures; its own when absent. */
  metrics?: ProjectorMetrics;
  tracing?: Tracing | null;
}

/**
 * Starts the projector: waits for Kafka and MongoDB, checks topics, makes read models and indexes that are missing, and begins to apply.
 * @throws {StoreDataError} `topic_unsuitable`, `server_unsuitable` or `generation_unsuitable`, before anything is
 * consumed.
 */
export async function startProjector(
  config: Config,
  logger: Logger,
  {
    projectionVersion = PROJECTION_VERSION,
    metrics = createMetrics(),
    tracing = null,
  }: ProjectorOptions = {},
): Promise<RunningProjector> {
  const { namePrefix: prefix, environments } = config;
  const databases = Databases.of(config, (one) => createWriterClient(one, 'projector'));
  for (const client of databases.clients) watchPool(client, metrics.pool);
  const away = (error: Error) => logger.debug({ error: describeError(error) }, 'redis');
  const redis = createRedis(config, { away }, metrics.redisSeconds);
  const stopping: (() => Promise<unknown>)[] = [async () => redis.disconnect(), () => databases.close()];
  const stop = async () => {
    for (const step of stopping.splice(0).toReversed()) {
      await step().catch((error: unknown) => logger.warn({ error: describeError(error) }, 'stopping'));
    }
  };
  try {
    const failure = await checkRedisAtStart(redis, REDIS_READY_MS);
    if (failure !== null) logger.warn({ error: failure }, 'starting without Redis');
    const kafkas = new PerKafka(config, (one) => createKafka(one, `${prefix}.projector`, logger));
    const topics = environments.flatMap((name) => [changesTopic(name), accessTopic(name)]);
    const common = kafkas.group(topics).get(kafkas.common) ?? [];
    await onceReached('Kafka', () => checkTopicsOn(kafkas.common, common), logger);
    await onceReached('MongoDB', () => databases.common.connect(), logger);
    const { control } = databases;
    await createControlIndexes(control);
    await createAuditIndexes(control);
    await createDroppedIndexes(control);
    const running = await startConsumers(
      {
        config,
        prefix,
        environments,
        projectionVersion,
        logger,
        metrics,
        tracing,
        databases,
        redis,
        kafkas,
        control,
      },
      stopping,
    );
    const status = () => readStatus({ databases, prefix, environments, redis, metrics });
    return { metrics, ...running, status, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function checkTopicsOn(kafka: Kafka, topics: string[]): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    await checkTopics(admin, topics);
  } finally {
    await admin.disconnect();
  }
}

/** What all parts of a projector work with. */
interface Parts {
  config: Config;
  prefix: string;
  environments: readonly string[];
  projectionVersion: number;
  logger: Logger;
  metrics: ProjectorMetrics;
  tracing: Tracing | null;
  databases: Databases;
  redis: RedisMasters;
  kafkas: PerKafka<Kafka>;
  control: Db;
}

async function startConsumers(
  parts: Parts,
  stopping: (() => Promise<unknown>)[],
): Promise<Pick<RunningProjector, 'failed' | 'isLive'>> {
  const { config, environments, metrics } = parts;
  let follower: GenerationFollower | null = null;
  const publisher = new AccessPublisher({
    ...parts,
    readModels: () => (follower?.followed ?? []).filter(({ state }) => state === 'live'),
  });
  stopping.push(() => publisher.stop());
  const reconciler = new AccessReconciler(parts);
  stopping.push(() => reconciler.stop());

  const limits = { events: config.projector.sliceEvents, bytes: config.projector.sliceBytes };
  const base: ProjectOptions['base'] = {
    ...parts,
    sessionTimeoutMs: config.kafka.sessionTimeoutMs,
    concurrentPartitions: config.projector.concurrentPartitions,
    limits,
  };
  const pace = new Pace(limits.events);
  const letters = await LetterExpiry.start({
    ...parts,
    ...config.projector.deadLetters,
    generations: () => follower?.followed ?? [],
    metrics: metrics.letters,
  });
  stopping.push(() => letters.stop());
  const projecting: ProjectOptions = {
    config,
    kafkas: parts.kafkas,
    base,
    pace,
    letters,
    trees: new TreeCache(),
    rewriting: { share: config.projector.rewritingShare, metrics: metrics.rewriting },
    storeChanged: () => publisher.sweep(),
  };
  follower = await GenerationFollower.start({
    ...parts,
    own: config.own,
    prepare: (environment) => prepare(parts, environment),
    project: (generation) => projectGeneration(projecting, generation),
  });
  const followed = follower;
  letters.look();
  stopping.push(() => followed.stop());

  const consumers: RunningConsumer[] = [];
  stopping.push(() => allEnded(consumers.map((consumer) => consumer.stop())));
  for (const environment of environments) {
    const consumer = await startAccessConsumer(parts, { base, pace, letters }, publisher, environment);
    consumers.push(consumer);
  }
  const failed = Promise.race([followed.failed, ...consumers.map((consumer) => consumer.failed)]);
  // Whoever started it may listen later, or only stop it.
  failed.catch(() => undefined);
  return {
    failed,
    isLive: () => followed.isLive() && consumers.every((consumer) => consumer.isLive()),
  };
}

/** Makes an environment's first generation. What it has of its own is checked here: the installation's was before. */
async function prepare({ config, databases, kafkas, projectionVersion }: Parts, environment: string) {
  const own = config.own.get(environment);
  // One whose first connection failed is to be connected again.
  if (own?.mongodb !== undefined) await databases.clientOf(environment).connect();
  const topic = changesTopic(environment);
  if (own?.kafka !== undefined) await checkTopicsOn(kafkas.of(topic), [topic]);
  await createFirstGeneration(databases, environment, projectionVersion);
}

/** Access belongs to no generation: its truth and its checkpoints lie in the control database. */
function startAccessConsumer(
  { prefix, databases, kafkas, control, metrics }: Parts,
  { base, pace, letters }: Pick<ProjectOptions, 'base' | 'pace' | 'letters'>,
  publisher: AccessPublisher,
  environment: string,
): Promise<RunningConsumer> {
  const labels = { environment, generation: 'control' };
  const topic = accessTopic(environment);
  const limits = letters.limits(control, topic);
  const checkpoints = control.collection<Checkpoint>(CHECKPOINTS);
  return startConsumer({
    ...base,
    kafka: kafkas.of(topic),
    client: databases.common,
    topic,
    groupId: `${prefix}.${environment}.access`,
    checkpoints,
    generation: labels.generation,
    wayOut: `let KAFKA_BROKERS name the cluster that it was made from, or remove this checkpoint from ${control.databaseName}.${CHECKPOINTS} to have the log applied from its beginning`,
    turns: pace.turns({ isBuilding: () => false, share: () => 100 }),
    commit: async (claim, slice, hopeless) => {
      const { keys, stores, outdated, deadLetters } = await applyWithCheckpoint(
        checkpoints,
        claim,
        slice,
        (checkpoint) => applyAccess(control, environment, claim.session, slice, hopeless, limits, checkpoint),
      );
      publisher.publish(keys, stores);
      countDeadLetters(metrics, environment, labels.generation, deadLetters);
      metrics.applied.inc({ ...labels, entity: 'access_key' }, keys.length);
      metrics.applied.inc({ ...labels, entity: 'store_access' }, stores.length);
      if (outdated > 0) metrics.outdated.inc(labels, outdated);
    },
  });
}
