/** The routes of the API: each file in the folder `routes` is a plugin that adds some. */
import { join } from 'node:path';
import autoload, { type AutoloadPluginOptions } from '@fastify/autoload';
import fastify from 'fastify';
import type { Route } from './endpoints/data-endpoint.ts';

export const ROUTES_FOLDER: AutoloadPluginOptions = { dir: join(import.meta.dirname, 'routes') };

/** Loads the routes without connecting to anything. */
export async function declaredRoutes(): Promise<readonly Route[]> {
  const app = fastify({ exposeHeadRoutes: false });
  app.decorate('routes', []);
  await app.register(autoload, ROUTES_FOLDER);
  await app.ready();
  return app.routes;
}
