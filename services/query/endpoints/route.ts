/** What a route is: what the OpenAPI document says of it, its scopes too, and what answers. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { DescribedRoute } from '../openapi/document.ts';

export interface Route extends DescribedRoute {
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

/** The methods of a route: HEAD is GET without a body. */
export function methodsOf({ method }: Route): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route that was added, for answers about methods, the OpenAPI document, and tests. */
    routes: Route[];
  }
}

/** A plugin that adds routes, as `@fastify/autoload` finds it in the folder of routes. */
export function routePlugin(routes: readonly Route[]): FastifyPluginAsync {
  return async (app) => {
    app.routes.push(...routes);
    for (const route of routes) app.route({ method: methodsOf(route), url: route.path, handler: route.handler });
  };
}
