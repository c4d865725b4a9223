/** `GET /api/<kind>/changes`: the records of a kind that changed, with the scope of the kind's list. */
import type { FastifyInstance } from 'fastify';
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { KINDS, type KindName } from '#query/kinds.ts';

export default async function changes(app: FastifyInstance): Promise<void> {
  for (const kind of Object.keys(KINDS) as KindName[]) await app.register(changesEndpoint(kind));
}
