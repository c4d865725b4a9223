/** What a route is: who may use it, what the OpenAPI document says of it, and what answers. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '#shared/events/access-event.ts';
import type { DescribedRoute } from '../openapi/document.ts';
import type { Parameters } from '../parameters/parameter.ts';

/** Who may use a route: everybody, or tokens with all of some scopes. */
export type RouteAccess = 'open' | { scopes: readonly [Scope, ...Scope[]]; parameters: Parameters };

export interface Route extends DescribedRoute {
  access: RouteAccess;
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  bodyLimit?: number;
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
    for (const route of routes) {
      const { path: url, handler, bodyLimit } = route;
      app.route({
        method: methodsOf(route),
        url,
        handler,
        ...(bodyLimit === undefined ? {} : { bodyLimit }),
      });
    }
  };
}
