/** The table of all routes. One that does not say who may use it, and what it is for, stops the service from starting. */
import plugin from 'fastify-plugin';
import type { RouteEntry } from '../types.ts';

export default plugin(
  async (app) => {
    const table: RouteEntry[] = [];
    app.decorate('routeTable', table);
    app.addHook('onRoute', ({ url, method, config }) => {
      const { access, operation } = config ?? {};
      if (access === undefined) throw new Error(`the route ${url} does not declare its access`);
      if (operation === undefined) throw new Error(`the route ${url} does not document itself`);
      for (const name of [method].flat()) table.push({ method: name, path: url, access, operation });
    });
  },
  { name: 'routes-table' },
);
