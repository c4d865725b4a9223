/** Those who wait for changes: one watch for each generation, which ends before the service does. */
import { LRUCache } from 'lru-cache';
import plugin from 'fastify-plugin';
import { Watch } from '../feed/watch.ts';

/** One for each environment, and those that were live before a flip until their last requests are answered. */
const CACHED_GENERATIONS = 100;

export default plugin(
  async (app) => {
    const watches = new LRUCache<string, Watch>({ max: CACHED_GENERATIONS });
    let closing = false;
    app.decorate('isClosing', () => closing);
    app.decorate('watchOf', (generation) => {
      const { id, environment } = generation.marker;
      const cached = watches.get(id);
      if (cached !== undefined) return cached;
      const { bounded, logger } = app;
      const isCurrent = () => {
        try {
          return app.generations.of(environment).marker.id === id;
        } catch {
          return false;
        }
      };
      const made = new Watch({ generation, bounded, logger, isCurrent });
      watches.set(id, made);
      return made;
    });
    app.decorateRequest('heldMilliseconds', 0);
    // The answers that are held are sent before connections are closed.
    app.addHook('preClose', async () => {
      closing = true;
      for (const watch of watches.values()) watch.end();
    });
    app.addHook('onClose', async () => {
      await Promise.all([...watches.values()].map((watch) => watch.stop()));
    });
  },
  { name: 'feed-watch', dependencies: ['generations'] },
);
