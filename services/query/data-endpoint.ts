/**
 * What makes a data endpoint: one declaration of its scopes, parameters and read, from which its route with all
 * checks, headers and conditional answers is made.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { EntityName } from '#shared/events/entities/index.ts';
import type { Scope } from '#shared/events/access-event.ts';
import { callerOf, enforceQuota, requireScopes, type Step } from './access/steps.ts';
import { conditionOf, etagOf, type EtagSource, names } from './answers/etag.ts';
import { notFound, Refused } from './answers/refusal.ts';
import { dataOperation, type Documentation } from './openapi/data-operation.ts';
import type { Parameters, Values } from './parameters/parameter.ts';
import { queryOf } from './parameters/query.ts';
import { parameterReader } from './parameters/read.ts';
import type { Found } from './reading/found.ts';
import { readStamp, type View } from './reading/view.ts';

export interface DataEndpoint<P extends Parameters> {
  /** Under the route's folder, with or without a slash at the end, as SPEC section 4 has it. */
  path: string;
  /** All of them are required. */
  scopes: readonly [Scope, ...Scope[]];
  parameters: P;
  documentation: Documentation;
  /** The kinds of records that the answer shows: its entity tag changes with them. */
  shows: readonly [EntityName, ...EntityName[]];
  /** The answer; `null` when this store does not have the record. */
  read: (view: View, values: Values<P>) => Promise<Found | null>;
}

/** Makes the plugin of a route file. */
export function dataEndpoint<P extends Parameters>(endpoint: DataEndpoint<P>) {
  const { path, scopes, parameters, documentation } = endpoint;
  const readParameters = parameterReader(parameters);
  const operation = dataOperation(documentation, scopes, parameters);
  return async (app: FastifyInstance): Promise<void> => {
    app.route({
      method: ['GET', 'HEAD'],
      url: path,
      config: { access: { scopes, parameters }, operation },
      onRequest: [
        forbidSharedCaches,
        async (request, reply) => app.authenticate(request, reply),
        enforceQuota,
        requireScopes(scopes),
        async (request) => {
          request.values = readParameters(queryOf(request));
        },
      ],
      handler: async (request, reply) => answer(app, endpoint, request, reply),
    });
  };
}

/** On every answer, refusals too: what one client is told is nothing for a shared cache. */
const forbidSharedCaches: Step = async (_request, reply) => {
  reply.header('cache-control', 'private, no-cache');
};

async function answer<P extends Parameters>(
  app: FastifyInstance,
  { read, shows }: DataEndpoint<P>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { environment, storeId } = callerOf(request);
  const values = request.values as Values<P>;
  const generation = app.generations.of(environment);
  const view: View = {
    storeId,
    generation,
    bounded: app.deadlineOf(reply),
    shared: app.sharedReads(generation),
  };
  const path = request.routeOptions.url ?? '';
  const source: EtagSource = { path, parameters: values, storeId, marker: generation.marker, shows };
  const condition = conditionOf(request.headers['if-none-match']);

  // The stamp is one small document: when it answers the question, nothing else is read.
  if (Array.isArray(condition)) {
    const etag = etagOf(source, await readStamp(view));
    if (names(condition, etag)) return sendNotModified(reply, etag);
  }
  const found = await read(view, values);
  if (found === null) throw new Refused(notFound('this store has no such record'));
  const etag = etagOf(source, found.stamp);
  if (condition === '*' || names(condition, etag)) return sendNotModified(reply, etag);
  return describeAnswer(reply, etag)
    .header('content-type', 'application/json; charset=utf-8')
    .send(found.body);
}

function describeAnswer(reply: FastifyReply, etag: string): FastifyReply {
  return reply.header('etag', etag).header('vary', 'accept-encoding');
}

function sendNotModified(reply: FastifyReply, etag: string): FastifyReply {
  return describeAnswer(reply.code(304), etag).send();
}
