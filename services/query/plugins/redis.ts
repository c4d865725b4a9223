/** The Redis client, which fails at once where it would have to wait. */
import plugin from 'fastify-plugin';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { describeRedis, requireNoEviction } from '#shared/redis-server.ts';
import { createRedisClient, redisReady } from '#shared/redis.ts';

/** How long a start waits for Redis; without it the service answers 503 until it is there. */
const READY_TIMEOUT_MS = 1_000;

export default plugin(
  async (app) => {
    // One line for each outage, not one for each attempt.
    let away = false;
    const redis = createRedisClient(app.config, (error) => {
      if (!away) app.log.warn({ error: describeError(error) }, 'Redis cannot be reached');
      away = true;
    });
    redis.on('ready', () => {
      if (away) app.log.info('Redis is back');
      away = false;
    });
    app.decorate('redis', redis);
    app.addHook('onClose', async () => redis.disconnect());
    try {
      await redisReady(redis, READY_TIMEOUT_MS);
      requireNoEviction(await describeRedis(redis));
    } catch (error) {
      if (error instanceof StoreDataError && error.code === 'server_unsuitable') {
        redis.disconnect();
        throw error;
      }
      app.log.warn({ error: describeError(error) }, 'starting without Redis');
    }
  },
  { name: 'redis' },
);
