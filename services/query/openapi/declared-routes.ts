/** What the routes declare, without the servers that they need when they serve. */
import { join } from 'node:path';
import autoload from '@fastify/autoload';
import fastify from 'fastify';
import routesTable from '../plugins/routes-table.ts';
import type { RouteEntry } from '../types.ts';

/** Every route of the app, as `app.routeTable` holds them. */
export async function declaredRoutes(): Promise<readonly RouteEntry[]> {
  const app = fastify({ exposeHeadRoutes: false });
  await app.register(routesTable);
  await app.register(autoload, { dir: join(import.meta.dirname, '../routes') });
  // Not made ready: nothing is to begin.
  return app.routeTable;
}
