/** The Redis client: fails fast instead of queueing, so that an outage is an error and never a wait. */
import type { Redis, RedisOptions } from 'ioredis';
import type { Histogram } from 'prom-client';
import { readPassword, readTlsFiles } from './config/files.ts';
import type { Config } from './config.ts';
import type { makersIn } from './process-metrics.ts';
import { type RedisAddress, readRedisAddress, type RedisNode } from './redis-address.ts';
import { RedisCluster } from './redis-cluster/cluster.ts';
import { RedisConnection } from './redis-connection.ts';
import { onlyMaster, type RedisMasters } from './redis-masters.ts';

/** Makes the metric of how long Redis takes to answer. */
export function redisSecondsIn({ histogram }: Pick<ReturnType<typeof makersIn>, 'histogram'>): Histogram {
  return histogram(
    'store_data_redis_seconds',
    'Seconds until Redis has answered the commands that were sent together',
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
  );
}

/** Is told when a server is away, once for each outage, and when it is back: without a listener an error would end the process. */
export interface RedisWatcher {
  away: (error: Error) => void;
  back?: () => void;
}

/**
 * Connects to what the configuration names: one server, the master that sentinels know, or the masters of a cluster.
 * @param seconds measures how long Redis takes to answer.
 */
export function createRedis(config: Config, watcher: RedisWatcher, seconds?: Histogram): RedisMasters {
  const address = addressOf(config);
  if (address.kind === 'cluster') {
    return new RedisCluster(address.nodes, (node) => watched(connect(config, node, seconds), watcher));
  }
  const redis = watched(connect(config, address.nodes[0], seconds), watcher);
  const master = onlyMaster(redis);
  const all = [master];
  return {
    all: () => all,
    findMaster: () => master,
    find: () => redis,
    isWhole: () => true,
    onChange: () => undefined,
    ready: (timeoutMs) => redisReady(redis, timeoutMs),
    disconnect: () => redis.disconnect(),
  };
}

function watched(redis: RedisConnection, { away, back }: RedisWatcher): RedisConnection {
  let isAway = false;
  redis.on('error', (error) => {
    if (!isAway) away(error);
    isAway = true;
  });
  redis.on('ready', () => {
    if (isAway) back?.();
    isAway = false;
  });
  return redis;
}

function addressOf({ redis }: Config): RedisAddress {
  const address = readRedisAddress(redis.url);
  if (address === null) throw new Error('the configuration has no address of Redis');
  return address;
}

/**
 * Connects at once and goes on trying. Commands fail while it is not connected (`enableOfflineQueue: false`) and after
 * `REDIS_COMMAND_TIMEOUT_MS` when Redis is frozen. Commands sent in one turn of the event loop travel together.
 */
function connect(config: Config, node: RedisNode, seconds?: Histogram): RedisConnection {
  const { commandTimeoutMs } = config.redis;
  const address = addressOf(config);
  const options: RedisOptions = {
    ...securityOf(config.redis),
    ...(address.kind === 'sentinel' ? sentinelsOf(config.redis, address) : {}),
    enableOfflineQueue: false,
    // A frozen Redis: the connection goes, and with it what piles up behind commands nobody answers.
    socketTimeout: Math.max(commandTimeoutMs * 5, 1_000),
    connectTimeout: Math.max(commandTimeoutMs, 1_000),
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(50 * attempt, 500),
  };
  return new RedisConnection(address.urlOf(node), commandTimeoutMs, options, (took) =>
    seconds?.observe(took),
  );
}

/** Resolves when the client is ready for commands; rejects after `timeoutMs`. */
async function redisReady(redis: Redis, timeoutMs: number): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      redis.off('ready', ready);
      reject(new Error('Redis connection is not ready'));
    }, timeoutMs);
    const ready = () => {
      clearTimeout(timer);
      resolve();
    };
    redis.once('ready', ready);
  });
}

/** Which sentinels are asked, before each attempt to connect, where the master is. */
function sentinelsOf(
  { sentinel, tls, commandTimeoutMs }: Config['redis'],
  { nodes, master, isSecure }: RedisAddress,
): RedisOptions {
  const { username } = sentinel;
  const password = readPassword(sentinel);
  return {
    sentinels: [...nodes],
    name: master,
    ...(username === null ? {} : { sentinelUsername: username }),
    ...(password === null ? {} : { sentinelPassword: password }),
    ...(isSecure ? { enableTLSForSentinelMode: true, sentinelTLS: readTlsFiles(tls) } : {}),
    sentinelCommandTimeout: Math.max(commandTimeoutMs, 1_000),
    sentinelRetryStrategy: (attempt) => Math.min(50 * attempt, 500),
  };
}

/** Who we are and whom we trust, as far as the address does not say it. */
function securityOf(settings: Config['redis']): Pick<RedisOptions, 'username' | 'password' | 'tls'> {
  const { username, tls } = settings;
  const password = readPassword(settings);
  return {
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(tls.caFile === null && tls.certFile === null ? {} : { tls: readTlsFiles(tls) }),
  };
}
