/** The Redis client: fails fast instead of queueing, so that an outage is an error and never a wait. */
import type { Redis, RedisOptions } from 'ioredis';
import { readPassword, readTlsFiles } from './config/files.ts';
import type { Config } from './config.ts';
import { RedisConnection } from './redis-connection.ts';

/**
 * Makes a client that connects at once and goes on trying. Commands fail while it is not connected
 * (`enableOfflineQueue: false`) and after `REDIS_COMMAND_TIMEOUT_MS` when Redis is frozen. Commands
 * sent in one turn of the event loop travel together.
 * @param onError is told of connection errors; without a listener they would end the process.
 */
export function createRedisClient(config: Config, onError: (error: Error) => void): RedisConnection {
  const redis = new RedisConnection(config.redis.url, config.redis.commandTimeoutMs, {
    ...securityOf(config.redis),
    enableOfflineQueue: false,
    // A frozen Redis: the connection goes, and with it what piles up behind commands nobody answers.
    socketTimeout: Math.max(config.redis.commandTimeoutMs * 5, 1_000),
    connectTimeout: Math.max(config.redis.commandTimeoutMs, 1_000),
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(50 * attempt, 500),
  });
  redis.on('error', onError);
  return redis;
}

/** Resolves when the client is ready for commands; rejects after `timeoutMs`. */
export async function redisReady(redis: Redis, timeoutMs: number): Promise<void> {
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
