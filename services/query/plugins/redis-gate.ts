/** The gate before Redis, which opens once that is known to hold nothing that was taken away. */
import plugin from 'fastify-plugin';
import { RedisGate } from '../access/redis-gate.ts';

/** How long a start waits for a Redis that is there to be reconciled; 503 is answered until it is. */
const OPEN_TIMEOUT_MS = 10_000;

export default plugin(
  async (app) => {
    const { config, control, redis, metrics, logger } = app;
    const { namePrefix: prefix, environments } = config;
    const gate = new RedisGate({ redis, prefix, control, environments, logger, metrics });
    app.decorate('redisGate', gate);
    app.addHook('onClose', () => gate.stop());
    if (redis.status !== 'ready') return;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, OPEN_TIMEOUT_MS);
    });
    await Promise.race([gate.firstAttempt, timeout]);
    clearTimeout(timer);
  },
  { name: 'redis-gate', dependencies: ['mongodb', 'redis'] },
);
