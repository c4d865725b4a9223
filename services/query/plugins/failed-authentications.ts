/** The limits of failed authentications. */
import plugin from 'fastify-plugin';
import { createFailedAuthentications } from '../token/failed-authentications.ts';

export default plugin(
  async (app) => {
    const { config, redis, metrics } = app;
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
