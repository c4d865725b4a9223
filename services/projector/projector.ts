/**
 * The projector: for each environment a consumer of changes for every generation of this release
 * and one of access, and the publisher that feeds Redis.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createControlIndexes } from '#shared/access/access-keys.ts';
import { createAuditIndexes } from '#shared/access/audit.ts';
import type { Config } from '#shared/config.ts';
import { describeError, isUnavailable } from '#shared/errors.ts';
import { topicsOf } from '#shared/events/topics.ts';
import { type Admin, askKafka, createKafka, checkTopics } from '#shared/kafka/client.ts';
import { countFailures, type Logger } from '#shared/logging.ts';
import { createWriterClient, watchPool } from '#shared/mongodb.ts';
import { createDecisionIndexes } from '#shared/projection/dead-letters/decisions.ts';
import { TreeCache } from '#shared/projection/rank-tree/loaded-tree.ts';
import { DEAD_LETTERS, INDEXES } from '#shared/read-models/collections.ts';
import { Databases, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { checkRedisAtStart } from '#shared/redis-masters.ts';
import { createRedis, logRedis } from '#shared/redis.ts';
import { allEnded } from '#shared/waiting.ts';
import { consumeAccess } from './access/consumer.ts';
import { startPublisher } from './access/publisher.ts';
import { startReconciler } from './access/reconciler.ts';
import { createSupervisor } from './environment.ts';
import { makeFirstGeneration } from './first-generation.ts';
import { projectGeneration } from './generation.ts';
import { createScheduler } from './log/scheduler.ts';
import { createMetrics, type ProjectorMetrics } from './metrics.ts';
import type { Parts } from './parts.ts';

/**
 * How long a start waits for Redis. Without Redis events are applied, and access is published
 * later.
 */
const REDIS_READY_MS = 1_000;
const RETRY_MS = 1_000;
/**
 * How long an operation waits for a primary. Short: the projector tries again, and a client that
 * reconnects waits this long to abort transactions.
 */
const SELECTION_MS = 2_000;

export interface RunningProjector {
  metrics: ProjectorMetrics;
  /** Rejects when it cannot continue: the process should end. */
  failed: Promise<never>;
  isLive: () => boolean;
  /** Why it must not replace other projectors yet; `null` if it may. */
  unreadyReason: () => string | null;
  stop: () => Promise<void>;
}

/** A test may act as another release. */
type ProjectorOptions = Partial<Pick<Parts, 'projectionVersion' | 'metrics' | 'tracing'>>;

/**
 * Waits for Kafka and MongoDB, checks topics, creates missing read models and indexes, and starts to apply events.
 * @throws {StoreDataError} `topic_unsuitable`, `server_unsuitable` or `generation_unsuitable`, before anything is consumed.
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
  const client = createWriterClient(config, 'projector', {
    logger,
    serverSelectionTimeoutMS: SELECTION_MS,
  });
  watchPool(client, metrics.pool);
  const databases = new Databases(config.namePrefix, client);
  const redis = createRedis(config, logRedis(logger), metrics.redisSeconds);
  await using begun = new AsyncDisposableStack();
  const onStop = (step: () => unknown) =>
    begun.defer(async () => {
      await Promise.try(step).catch((error: unknown) =>
        logger.warn({ error: describeError(error) }, 'a part did not stop cleanly'),
      );
    });
  onStop(() => client.close());
  onStop(() => redis.disconnect());
  const withoutRedis = await checkRedisAtStart(redis, REDIS_READY_MS);
  if (withoutRedis !== null) logger.warn({ error: withoutRedis }, 'starting without Redis');
  const kafka = createKafka(config, `${config.namePrefix}.projector`, logger);
  const topics = config.environments.flatMap(topicsOf);
  const check = (admin: Admin) => checkTopics(admin, topics, (remark) => logger.warn(remark));
  await waitFor('Kafka', () => askKafka(kafka, check), logger);
  await waitFor('MongoDB', () => client.connect(), logger);
  const { control } = databases;
  await createControlIndexes(control);
  await createAuditIndexes(control);
  await createDecisionIndexes(control);
  await control.collection(DEAD_LETTERS).createIndexes(INDEXES[DEAD_LETTERS]);
  const { sliceEvents, concurrentPartitions } = config.projector;
  const scheduler = createScheduler(sliceEvents, concurrentPartitions);
  const failure = Promise.withResolvers<never>();
  // The caller may listen later, or only stop it.
  failure.promise.catch(() => undefined);
  const parts = {
    config,
    projectionVersion,
    logger,
    metrics,
    tracing,
    databases,
    redis,
    kafka,
    control,
    scheduler,
    trees: new TreeCache(),
    fail: failure.reject,
  };
  const states = await startParts(parts, onStop);
  const running = begun.move();
  return { metrics, failed: failure.promise, ...states, stop: () => running.disposeAsync() };
}

/**
 * Repeats an attempt while the server is unavailable, and logs that it waits.
 * @throws other errors.
 */
async function waitFor(
  server: string,
  attempt: () => Promise<unknown>,
  logger: Logger,
): Promise<void> {
  for (const failing = countFailures(); ; await sleep(RETRY_MS)) {
    try {
      await attempt();
      if (failing.end()) logger.info({ server }, `${server} is reached`);
      return;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const failures = failing.failed(performance.now());
      if (failures === null) continue;
      logger.warn(
        { server, seconds: failures.seconds, error: describeError(error) },
        `waiting for ${server}`,
      );
    }
  }
}

/**
 * Starts all parts.
 * @param onStop registers what stops a part; the last one started stops first.
 */
async function startParts(
  parts: Parts,
  onStop: (step: () => unknown) => void,
): Promise<Pick<RunningProjector, 'isLive' | 'unreadyReason'>> {
  const { config, redis } = parts;
  const publisher = startPublisher(parts);
  onStop(publisher.stop);
  const reconciler = startReconciler(parts);
  onStop(reconciler.stop);
  const options = {
    ...parts,
    applyAccess: (environment: string) => consumeAccess(parts, publisher, environment),
    prepare: (environment: string) => makeFirstGeneration(parts, environment),
    project: projectGeneration.bind(null, parts, () => publisher.sweep()),
  };
  const supervisors = config.environments.map((environment) =>
    createSupervisor(options, environment),
  );
  onStop(() => allEnded(supervisors.map((one) => one.stop())));
  await allEnded(supervisors.map((one) => one.start()));
  const unprojected = () =>
    supervisors.map((one) => one.unprojectedReason).find((reason) => reason !== null);
  return {
    isLive: () => supervisors.every((one) => one.isLive()),
    unreadyReason: () => unprojected() ?? redis.refusal(),
  };
}
