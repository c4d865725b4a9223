/** The generations that requests read from. */
import plugin from 'fastify-plugin';
import { watchGenerations } from '../generations.ts';

const INTERVAL_MS = 500;

export default plugin(
  async (app) => {
    const generations = await watchGenerations({
      client: app.mongodb,
      bounded: app.bounded,
      prefix: app.config.namePrefix,
      environments: app.config.environments,
      projectionVersion: app.projectionVersion,
      logger: app.logger,
      intervalMs: INTERVAL_MS,
    });
    app.decorate('generations', generations);
    app.addHook('onClose', () => generations.stop());
  },
  { name: 'generations', dependencies: ['mongodb'] },
);
