/** The Redis client, which fails at once where it would have to wait, and the gate before it. */
import plugin from 'fastify-plugin';
import { describeError } from '#shared/errors.ts';
import { checkRedisAtStart } from '#shared/redis-server.ts';
import { createRedisClient } from '#shared/redis.ts';
import { RedisGate } from '../access/redis-gate.ts';
import { soon } from '../at-start.ts';

/** How long a start waits for Redis; without it the service answers 503 until it is there. */
const READY_TIMEOUT_MS = 1_000;

export default plugin(
  async (app) => {
    // One line for each outage, not one for each attempt.
    let away = false;
    const noteAway = (error: Error) => {
      if (!away) app.log.warn({ error: describeError(error) }, 'Redis cannot be reached');
      away = true;
    };
    const redis = createRedisClient(app.config, noteAway, app.metrics.redisSeconds);
    redis.on('ready', () => {
      if (away) app.log.info('Redis is back');
      away = false;
    });
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
    const gate = new RedisGate({ redis, prefix, control, environments, logger, metrics });
    app.decorate('redisGate', gate);
    app.addHook('onClose', () => gate.stop());
    if (redis.status === 'ready') await soon(gate.firstAttempt);
  },
  { name: 'redis', dependencies: ['mongodb'] },
);
