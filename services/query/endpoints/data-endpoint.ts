/**
 * Routes. A data endpoint declares scopes, parameters and a read; its route does all checks,
 * headers and conditional answers.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { EntityName } from '#shared/events/entities.ts';
import type { Scope } from '#shared/events/access-event.ts';
import { namesCustomers } from '#shared/read-models/erasures.ts';
import { requireScopes } from '../access/live-access.ts';
import type { Client } from '../access/tokens.ts';
import type { DescribedRoute } from '../openapi/document.ts';
import { dataOperation, type Documentation } from '../openapi/operations.ts';
import type { Parameters, Values } from '../parameters/parameter.ts';
import { parameterReader, queryOf } from '../parameters/read.ts';
import { readStamp, type View } from '../read/shared-reads.ts';
import { type Body, type Found, proveGeneration } from '../read/snapshot.ts';
import { conditionOf, etagOf, type EtagSource, names } from '../responses/etag.ts';
import { sendCompressed } from '../responses/compress.ts';
import { notFound, Refused } from '../responses/refusal.ts';

export interface Route extends DescribedRoute {
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

/** The methods of a route: HEAD is GET without a body. */
export function methodsOf({ method }: Route): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

declare module 'fastify' {
  interface FastifyInstance {
    /** All routes, for 405 answers, the OpenAPI document and tests. */
    routes: Route[];
  }
}

/** A plugin that adds routes, as `@fastify/autoload` finds it in the folder of routes. */
export function routePlugin(routes: readonly Route[]): FastifyPluginAsync {
  return async (app) => {
    app.routes.push(...routes);
    for (const route of routes)
      app.route({ method: methodsOf(route), url: route.path, handler: route.handler });
  };
}

export type Services = FastifyInstance['services'];

export interface DataRoute<P extends Parameters> extends Documentation {
  /** With or without a final slash, as rule R2.1 has it. */
  path: string;
  /** The scopes that a query needs, if not all of them. Throws `Refused` for an invalid query. */
  scopesOf?: (query: string) => readonly Scope[];
  parameters: P;
}

interface DataEndpoint<P extends Parameters> extends DataRoute<P> {
  /** The kinds of records behind the answer: its entity tag changes with them. */
  dependsOn: readonly [EntityName, ...EntityName[]];
  /** The answer; `null` when this store does not have the record. */
  read: (view: View, values: Values<P>, services: Services) => Promise<Found<Body> | null>;
}

export function dataEndpoint<P extends Parameters>(endpoint: DataEndpoint<P>): Route {
  const { path, dependsOn, read } = endpoint;
  return dataRoute(endpoint, async (request, reply, values, { environment, storeId }) => {
    const { services } = request.server;
    const generation = services.generations.of(environment);
    const { reads: shared } = services.sharedOf(generation);
    const view: View = {
      ...shared.source,
      storeId,
      withDeadline: services.requestDeadline(reply),
      shared,
      redactErased: false,
    };
    const source: EtagSource = {
      path,
      parameters: values,
      storeId,
      marker: generation.marker,
      dependsOn,
    };
    const condition = conditionOf(request.headers['if-none-match']);

    // The stamp is one small document: if nothing changed, nothing else is read.
    if (Array.isArray(condition)) {
      const stamp = await readStamp(view);
      if (stamp === null) await proveGeneration(view);
      const etag = etagOf(source, stamp);
      if (names(condition, etag)) return sendNotModified(reply, etag);
    }
    let found = await read(view, values, services);
    // Customers of the store are being erased.
    if (found?.stamp?.erasing && dependsOn.some(namesCustomers)) {
      if (found.body instanceof Readable) found.body.destroy();
      found = await read({ ...view, redactErased: true }, values, services);
    }
    if ((found?.stamp ?? null) === null) await proveGeneration(view);
    if (found === null) throw new Refused(notFound('this store has no such record'));
    const etag = etagOf(source, found.stamp);
    const { body } = found;
    const isUnchanged = condition === '*' || names(condition, etag);
    // An unread stream would keep its snapshot open.
    if (body instanceof Readable && (isUnchanged || request.method === 'HEAD')) body.destroy();
    if (isUnchanged) return sendNotModified(reply, etag);
    return sendBody(reply.header('etag', etag), body);
  });
}

/** Makes a route for data. Its handler runs after all checks, with the values of the parameters. */
export function dataRoute<P extends Parameters>(
  route: DataRoute<P>,
  handler: (
    request: FastifyRequest,
    reply: FastifyReply,
    values: Values<P>,
    caller: Client,
  ) => Promise<FastifyReply>,
): Route {
  const { path, scopes, scopesOf = () => scopes, isUntagged } = route;
  const readParameters = parameterReader(route.parameters);
  const cacheControl = isUntagged ? 'private, no-store' : 'private, no-cache';
  return {
    method: 'GET',
    path,
    operation: dataOperation(route),
    async handler(request, reply) {
      // On refusals too: no shared cache may store them.
      reply.header('cache-control', cacheControl);
      // 401, 429, 403, 422: the order of rule R5.1.
      const caller = await request.server.services.authenticate(request, reply);
      const query = queryOf(request);
      requireScopes(scopesOf(query), caller.scopes);
      return handler(request, reply, readParameters(query), caller);
    },
  };
}

/** Sends a body; nothing if it is a destroyed stream. */
export async function sendBody(reply: FastifyReply, body: Body): Promise<FastifyReply> {
  reply.header('content-type', 'application/json; charset=utf-8');
  return sendCompressed(
    reply,
    body instanceof Readable && body.destroyed ? Readable.from([]) : body,
  );
}

function sendNotModified(reply: FastifyReply, etag: string): FastifyReply {
  return reply.code(304).headers({ etag, vary: 'accept-encoding' }).send();
}
