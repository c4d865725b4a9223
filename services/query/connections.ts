/**
 * Connections to MongoDB and Redis. Every operation has a deadline. A service that starts during an
 * outage answers 503 until its end.
 */
import type { MongoClient } from 'mongodb';
import { describeError, isUnavailable, unavailable } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { createReaderClient, watchPool } from '#shared/mongodb.ts';
import { pause } from '#shared/waiting.ts';
import { Databases } from '#shared/read-models/generation.ts';
import { type RedisMasters, checkRedisAtStart } from '#shared/redis-masters.ts';
import { createRedis, logRedis } from '#shared/redis.ts';
import {
  type WithDeadline,
  deadlineAfter,
  deadlineAt,
  LONG_READ_MS,
  withinStartupTimeout,
} from './deadline.ts';
import type { ServiceContext } from './metrics.ts';

const RECONNECT_MS = 500;
const REDIS_READY_MS = 1_000;

export type MongodbConnections = Awaited<ReturnType<typeof connectMongodb>>;

/** Connects a client for reading, with a circuit breaker; keeps trying during an outage. */
export async function connectMongodb({ config, metrics, logger }: ServiceContext) {
  const { readTimeoutMs } = config.mongodb;
  const client = createReaderClient(config, 'query', logger);
  watchPool(client, metrics.pool);
  const circuit = circuitBreaker(client, readTimeoutMs, metrics.mongodbAway, logger);
  const closed = new AbortController();
  await withinStartupTimeout(connect(client, logger, closed.signal));
  return {
    databases: new Databases(config.namePrefix, client),
    /** Bounds each read on its own. */
    readDeadline: circuit.guard(deadlineAfter(readTimeoutMs)),
    /** Bounds a read that runs alone, and may take long while MongoDB answers others. */
    longDeadline: circuit.patiently,
    /** Bounds a wait for others' reads, which says nothing about MongoDB. */
    slotDeadline: circuit.untilAway,
    /** Bounds all reads of one request together, from its arrival. */
    requestDeadline: ({ elapsedTime }: { elapsedTime: number }) =>
      circuit.guard(deadlineAt(performance.now() - elapsedTime + readTimeoutMs)),
    async close() {
      closed.abort();
      await Promise.all([client.close(), circuit.stop()]);
    },
  };
}

/**
 * Tries until it is connected. A client recovers by itself from then on; before, it fails with
 * "Topology is closed".
 */
async function connect(client: MongoClient, logger: Logger, signal: AbortSignal): Promise<void> {
  let isAway = false;
  do {
    try {
      await client.connect();
      // The service may have been stopped meanwhile.
      if (signal.aborted) await client.close();
      else if (isAway) logger.info('MongoDB is back');
      return;
    } catch (error) {
      if (!isAway) logger.warn({ error: describeError(error) }, 'MongoDB cannot be reached');
      isAway = true;
    }
  } while (await pause(RECONNECT_MS, signal));
}

const PROBE_MS = 100;

/**
 * A circuit breaker: while MongoDB is away, reads fail at once. A failed read, or the driver's
 * monitoring, raises a suspicion. A ping, with half the time of a read, confirms it for waiting
 * reads too, unless MongoDB answered others meanwhile: then only this process or its connections
 * were busy. The first answered ping ends it. @param away the metric.
 */
function circuitBreaker(
  client: MongoClient,
  readTimeoutMs: number,
  away: { set: (value: number) => void },
  logger: Logger,
) {
  const { readPreference } = client;
  const pingDeadline = deadlineAfter(readTimeoutMs / 2);
  const longDeadline = deadlineAfter(Math.max(LONG_READ_MS, readTimeoutMs));
  const stopped = new AbortController();
  const { signal } = stopped;
  let isOpen = false;
  let probing: Promise<void> | null = null;
  let answered = 0;
  /** Reads that end once the suspicion is confirmed: their own deadlines would be later. */
  const waiting = new Set<(error: Error) => void>();
  const setOpen = (value: boolean) => {
    isOpen = value;
    away.set(value ? 1 : 0);
  };
  const ping = () =>
    pingDeadline((late) =>
      client.db('admin').command({ ping: 1 }, { readPreference, signal: late }),
    );
  const isAway = async () => {
    const before = answered;
    // A server that answers with an error is not away.
    const isSilent = await ping().then(() => false, isUnavailable);
    return isSilent && answered === before;
  };
  const probe = async () => {
    while (!signal.aborted && (await isAway())) {
      if (!isOpen) logger.warn('MongoDB is away: requests that need it get 503 at once');
      setOpen(true);
      for (const end of waiting) end(mongodbIsAway());
      await pause(PROBE_MS, signal);
    }
    if (isOpen && !signal.aborted) logger.info('MongoDB answers again');
    setOpen(false);
  };
  const suspect = () => {
    if (!signal.aborted) probing ??= probe().finally(() => (probing = null));
  };
  const guarded = async <T>(run: () => Promise<T>): Promise<T> => {
    if (isOpen) throw mongodbIsAway();
    try {
      const found = await run();
      answered += 1;
      return found;
    } catch (error) {
      if (isUnavailable(error)) suspect();
      throw error;
    }
  };
  /**
   * A long deadline, which a frozen server does not use up: MongoDB is asked for as long as the
   * read is under way.
   */
  const patiently: WithDeadline = (read) =>
    guarded(async () => {
      const asking = setInterval(suspect, readTimeoutMs);
      try {
        return await longDeadline(read, waiting);
      } finally {
        clearInterval(asking);
      }
    });
  const untilAway: WithDeadline = async (wait) => {
    if (isOpen) throw mongodbIsAway();
    return longDeadline(wait, waiting);
  };
  setOpen(false);
  // A failed command changes the description too, before the driver's monitor has checked the
  // server.
  client.on('serverDescriptionChanged', ({ newDescription }) => {
    if (newDescription.type === 'Unknown') suspect();
  });
  return {
    /** Adds the circuit breaker to a deadline. */
    guard:
      (withDeadline: WithDeadline): WithDeadline =>
      (read) =>
        guarded(() => withDeadline(read, probing === null ? undefined : waiting)),
    patiently,
    untilAway,
    async stop() {
      stopped.abort();
      await probing;
    },
  };
}

const mongodbIsAway = () => unavailable('MongoDB is away');

export async function connectRedis({
  config,
  metrics,
  logger,
}: ServiceContext): Promise<RedisMasters> {
  const redis = createRedis(config, logRedis(logger), metrics.redisSeconds);
  const failure = await withinStartupTimeout(checkRedisAtStart(redis, REDIS_READY_MS)).catch(
    (error: unknown) => {
      redis.disconnect();
      throw error;
    },
  );
  if (failure === undefined) logger.warn({}, 'starting without Redis, which does not answer');
  else if (failure !== null) logger.warn({ error: failure }, 'starting without Redis');
  return redis;
}
