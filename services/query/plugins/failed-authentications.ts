/** The limits of failed authentications, and the addresses by which they are counted. */
import plugin from 'fastify-plugin';
import { clientAddresses } from '../token/client-address.ts';
import { createFailedAuthentications } from '../token/failed-authentications.ts';

export default plugin(
  async (app) => {
    const { config, redis, metrics } = app;
    app.decorate(
      'clientAddress',
      clientAddresses(config.query.trustedProxies, (proxy) =>
        app.log.warn(
          { proxy },
          'an entry of X-Forwarded-For is no address: those it stands for count as the proxy that sent it',
        ),
      ),
    );
    app.decorate(
      'failedAuthentications',
      createFailedAuthentications(
        redis,
        config.namePrefix,
        config.query.authFailures,
        metrics.failedAuthentications,
      ),
    );
  },
  { name: 'failed-authentications', dependencies: ['redis'] },
);
