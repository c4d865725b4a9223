/** The step of the token endpoint that finds out who asks, and what their key may do. */
import plugin from 'fastify-plugin';
import { authenticateClient, readApplicant } from '../token/client.ts';
import { clientAddresses } from '../token/client-address.ts';
import { createFailedAuthentications } from '../token/failed-authentications.ts';
import { primaryCheck } from '../token/primary.ts';
import { keyReader } from '../token/reload.ts';

export default plugin(
  async (app) => {
    const { databases, control, redis, redisGates, metrics } = app;
    const bounded = app.boundedIn(null);
    const { namePrefix: prefix, environments, query } = app.config;
    const failures = createFailedAuthentications(
      redis,
      prefix,
      query.authFailures,
      metrics.failedAuthentications,
    );
    const addressOf = clientAddresses(query.trustedProxies, (proxy) =>
      app.log.warn(
        { proxy },
        'an entry of X-Forwarded-For is no address: those it stands for count as the proxy that sent it',
      ),
    );
    const readKey = keyReader(control, bounded);
    const requirePrimary = primaryCheck(databases.control.client, bounded);
    const authenticate = authenticateClient({
      redis,
      redisGates,
      control,
      prefix,
      environments,
      readKey,
      requirePrimary,
    });
    app.decorate('authenticateClient', async ({ raw, headers }, session, deadline) => {
      const address = addressOf(raw.socket.remoteAddress, headers['x-forwarded-for']);
      return authenticate(readApplicant(failures, headers.authorization, address), session, deadline);
    });
  },
  { name: 'token', dependencies: ['mongodb', 'redis'] },
);
