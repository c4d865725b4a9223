/**
 * What makes a data endpoint: one declaration of its scopes, parameters and read, from which its route with all
 * checks, headers and conditional answers is made.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { EntityName } from '#shared/events/entities/index.ts';
import type { Scope } from '#shared/events/access-event.ts';
import { callerOf, enforceQuota, requireScopes } from './access/steps.ts';
import { deprecationHeaders } from './answers/deprecation.ts';
import { conditionOf, etagOf, type EtagSource, names } from './answers/etag.ts';
import { notFound, Refused } from './answers/refusal.ts';
import { dataOperation, type Documentation } from './openapi/data-operation.ts';
import type { Parameters, Values } from './parameters/parameter.ts';
import { queryOf } from './parameters/read.ts';
import { parameterReader } from './parameters/read.ts';
import type { Body, Found } from './reading/found.ts';
import { namesCustomers } from './reading/masking.ts';
import type { View } from './reading/shared-reads.ts';
import { readStamp } from './reading/stamp.ts';

export interface DataRoute<P extends Parameters> {
  /** Under the route's folder, with or without a slash at the end, as rule R2.1 has it. */
  path: string;
  /** All of them are required. */
  scopes: readonly [Scope, ...Scope[]];
  parameters: P;
  documentation: Documentation;
}

export interface DataEndpoint<P extends Parameters> extends DataRoute<P> {
  /** The kinds of records that the answer shows: its entity tag changes with them. */
  shows: readonly [EntityName, ...EntityName[]];
  /** The answer; `null` when this store does not have the record. */
  read: (view: View, values: Values<P>) => Promise<Found<Body> | null>;
}

/** Makes the plugin of a route file. */
export function dataEndpoint<P extends Parameters>(endpoint: DataEndpoint<P>) {
  return dataRoute(endpoint, 'private, no-cache', (app, request, reply, values) =>
    answer(app, endpoint, request, reply, values),
  );
}

/** Makes the plugin of a route for data: every check comes before its handler, which is given the parameters' values. */
export function dataRoute<P extends Parameters>(
  { path, scopes, parameters, documentation }: DataRoute<P>,
  cacheControl: string,
  handler: (
    app: FastifyInstance,
    request: FastifyRequest,
    reply: FastifyReply,
    values: Values<P>,
  ) => Promise<FastifyReply>,
) {
  const readParameters = parameterReader(parameters);
  const operation = dataOperation(documentation, scopes, parameters);
  const deprecation = deprecationHeaders(documentation.deprecation, parameters);
  return async (app: FastifyInstance): Promise<void> => {
    app.route({
      method: ['GET', 'HEAD'],
      url: path,
      config: { access: { scopes, parameters }, operation },
      onRequest: [
        async (request, reply) => {
          // On every answer, refusals too: what one client is told is nothing for a shared cache.
          reply.headers({ 'cache-control': cacheControl, ...deprecation(queryOf(request)) });
        },
        async (request, reply) => app.authenticate(request, reply),
        enforceQuota,
        requireScopes(scopes),
        async (request) => {
          request.values = readParameters(queryOf(request));
        },
      ],
      handler: async (request, reply) => handler(app, request, reply, request.values as Values<P>),
    });
  };
}

async function answer<P extends Parameters>(
  app: FastifyInstance,
  endpoint: DataEndpoint<P>,
  request: FastifyRequest,
  reply: FastifyReply,
  values: Values<P>,
): Promise<FastifyReply> {
  const { shows } = endpoint;
  const { environment, storeId } = callerOf(request);
  const generation = app.generations.of(environment);
  const shared = app.sharedOf(generation).reads;
  const view: View = {
    storeId,
    generation,
    bounded: app.deadlineOf(reply, environment),
    shared,
    masks: false,
  };
  const path = request.routeOptions.url ?? '';
  const source: EtagSource = { path, parameters: values, storeId, marker: generation.marker, shows };
  const condition = conditionOf(request.headers['if-none-match']);

  // The stamp is one small document: when it answers the question, nothing else is read.
  if (Array.isArray(condition)) {
    const etag = etagOf(source, await readStamp(view));
    if (names(condition, etag)) return sendNotModified(reply, etag);
  }
  const found = await readMasking(endpoint, view, values);
  if (found === null) throw new Refused(notFound('this store has no such record'));
  const etag = etagOf(source, found.stamp);
  const { body } = found;
  const isUnchanged = condition === '*' || names(condition, etag);
  // Nobody reads it, and it would keep what it needs.
  if (body instanceof Readable && (isUnchanged || request.method === 'HEAD')) body.destroy();
  if (isUnchanged) return sendNotModified(reply, etag);
  return sendBody(reply.header('etag', etag), body);
}

/** Sends a finished body; nothing of a stream that is destroyed. */
export function sendBody(reply: FastifyReply, body: Body): FastifyReply {
  return reply
    .header('vary', 'accept-encoding')
    .header('content-type', 'application/json; charset=utf-8')
    .send(body instanceof Readable && body.destroyed ? Readable.from([]) : body);
}

/** Reads again where the stamp says that customers of the store are being erased. */
async function readMasking<P extends Parameters>(
  { read, shows }: DataEndpoint<P>,
  view: View,
  values: Values<P>,
): Promise<Found<Body> | null> {
  const found = await read(view, values);
  const isExposed = found?.stamp?.erasing === true && shows.some(namesCustomers);
  return isExposed ? read({ ...view, masks: true }, values) : found;
}

function sendNotModified(reply: FastifyReply, etag: string): FastifyReply {
  return reply.code(304).headers({ etag, vary: 'accept-encoding' }).send();
}
