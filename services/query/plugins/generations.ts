/** The generations that requests read from. */
import plugin from 'fastify-plugin';
import { LRUCache } from 'lru-cache';
import { watchGenerations } from '../generations.ts';
import { Menus } from '../reading/menu/menus.ts';
import { SharedReads } from '../reading/shared-reads.ts';

const INTERVAL_MS = 500;
/** One for each environment, and those that were live before a flip until their last requests are answered. */
const CACHED_GENERATIONS = 100;

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
    // Those of all generations.
    const menus = new Menus();
    const shared = new LRUCache<string, SharedReads>({ max: CACHED_GENERATIONS });
    app.decorate('sharedReads', (generation) => {
      const { id } = generation.marker;
      const cached = shared.get(id);
      if (cached !== undefined) return cached;
      const made = new SharedReads(generation, app.bounded, menus);
      shared.set(id, made);
      return made;
    });
    app.addHook('onClose', () => generations.stop());
  },
  { name: 'generations', dependencies: ['mongodb'] },
);
