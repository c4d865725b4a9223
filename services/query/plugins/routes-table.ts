/** The table of all routes. A route that does not say who may use it stops the service from starting. */
import plugin from 'fastify-plugin';
import type { RouteEntry } from '../types.ts';

export default plugin(
  async (app) => {
    const table: RouteEntry[] = [];
    app.decorate('routeTable', table);
    app.addHook('onRoute', ({ url, method, config }) => {
      const access = config?.access;
      if (access === undefined) throw new Error(`the route ${url} does not declare its access`);
      for (const name of [method].flat()) table.push({ method: name, path: url, access });
    });
  },
  { name: 'routes-table' },
);
