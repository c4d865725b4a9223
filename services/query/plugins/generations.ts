/** The generations that requests read from, and what belongs to each: the reads that requests share, and the watch for those who wait for changes. */
import { LRUCache } from 'lru-cache';
import plugin from 'fastify-plugin';
import { Watch } from '../feed/watch.ts';
import { watchGenerations } from '../generations.ts';
import { createCaches } from '../reading/caches.ts';
import { Menus } from '../reading/menu/menus.ts';
import { SharedReads } from '../reading/shared-reads.ts';

const INTERVAL_MS = 500;
/** One for each environment, and those that were live before a flip until their last requests are answered. */
const CACHED_GENERATIONS = 100;

export default plugin(
  async (app) => {
    const { boundedIn, config, databases, logger } = app;
    const generations = await watchGenerations({
      databases,
      boundedIn,
      environments: config.environments,
      projectionVersion: app.projectionVersion,
      logger,
      intervalMs: INTERVAL_MS,
    });
    app.decorate('generations', generations);
    // Those of all generations.
    const caches = createCaches();
    const menus = new Menus(caches);
    const shared = new LRUCache<string, { reads: SharedReads; watch: Watch }>({
      max: CACHED_GENERATIONS,
      dispose: ({ watch }) => void watch.stop(),
    });
    const sharedOf: typeof app.sharedOf = (generation) => {
      const { id, environment } = generation.marker;
      const cached = shared.get(id);
      if (cached !== undefined) return cached;
      const bounded = boundedIn(environment);
      const isCurrent = () => generations.find(environment)?.marker.id === id;
      const made = {
        reads: new SharedReads({ generation, bounded }, caches, menus),
        watch: new Watch({ generation, bounded, logger, isCurrent }),
      };
      shared.set(id, made);
      return made;
    };
    app.decorate('sharedOf', sharedOf);
    let closing = false;
    app.decorate('isClosing', () => closing);
    app.decorateRequest('heldMilliseconds', 0);
    // The answers that are held are sent before connections are closed.
    app.addHook('preClose', async () => {
      closing = true;
      for (const { watch } of shared.values()) watch.end();
    });
    app.addHook('onClose', async () => {
      await Promise.all([generations.stop(), ...[...shared.values()].map(({ watch }) => watch.stop())]);
    });
  },
  { name: 'generations', dependencies: ['mongodb'] },
);
