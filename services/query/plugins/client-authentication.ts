/** The step of the token endpoint that finds out who asks, and what their key may do. */
import plugin from 'fastify-plugin';
import { authenticateClient } from '../token/client.ts';
import { primaryCheck } from '../token/primary.ts';
import { keyReader } from '../token/reload.ts';

export default plugin(
  async (app) => {
    const { mongodb, control, bounded, redis, redisGate, config } = app;
    app.decorate(
      'authenticateClient',
      authenticateClient({
        redis,
        redisGate,
        control,
        prefix: config.namePrefix,
        environments: config.environments,
        readKey: keyReader(control, bounded),
        requirePrimary: primaryCheck(mongodb, bounded),
      }),
    );
  },
  { name: 'client-authentication', dependencies: ['mongodb', 'redis-gate'] },
);
