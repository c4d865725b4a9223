/** The Redis client, which fails at once where it would have to wait, and the gate before it. */
import plugin from 'fastify-plugin';
import { describeError } from '#shared/errors.ts';
import { checkRedisAtStart } from '#shared/redis-server.ts';
import { createRedis, type RedisWatcher } from '#shared/redis.ts';
import { RedisGates } from '../access/redis-gates.ts';
import { soon } from '../at-start.ts';

/** How long a start waits for Redis; without it the service answers 503 until it is there. */
const READY_TIMEOUT_MS = 1_000;

export default plugin(
  async (app) => {
    const watcher: RedisWatcher = {
      away: (error) => app.log.warn({ error: describeError(error) }, 'Redis cannot be reached'),
      back: () => app.log.info('Redis is back'),
    };
    const redis = createRedis(app.config, watcher, app.metrics.redisSeconds);
    app.decorate('redis', redis);
    app.addHook('onClose', async () => redis.disconnect());
    const failure = await soon(checkRedisAtStart(redis, READY_TIMEOUT_MS)).catch((error: unknown) => {
      redis.disconnect();
      throw error;
    });
    if (failure === undefined) app.log.warn({}, 'starting without Redis, which does not answer');
    else if (failure !== null) app.log.warn({ error: failure }, 'starting without Redis');

    const { config, control, metrics, logger } = app;
    const { namePrefix: prefix, environments } = config;
    // It opens once Redis is known to hold nothing that was taken away.
    const gates = new RedisGates(redis, { prefix, control, environments, logger, metrics });
    app.decorate('redisGates', gates);
    app.addHook('onClose', () => gates.stop());
    await soon(gates.firstAttempts());
  },
  { name: 'redis', dependencies: ['mongodb'] },
);
