/** The gate before Redis, which opens once that is known to hold nothing that was taken away. */
import plugin from 'fastify-plugin';
import { RedisGate } from '../access/redis-gate.ts';
import { soon } from '../at-start.ts';

export default plugin(
  async (app) => {
    const { config, control, redis, metrics, logger } = app;
    const { namePrefix: prefix, environments } = config;
    const gate = new RedisGate({ redis, prefix, control, environments, logger, metrics });
    app.decorate('redisGate', gate);
    app.addHook('onClose', () => gate.stop());
    if (redis.status === 'ready') await soon(gate.firstAttempt);
  },
  { name: 'redis-gate', dependencies: ['mongodb', 'redis'] },
);
