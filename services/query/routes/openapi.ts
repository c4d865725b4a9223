/** `GET /openapi.json`: the description of this API, made once from what the routes declare. */
import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { conditionOf, names } from '#query/answers/etag.ts';
import { openApiDocument } from '#query/openapi/document.ts';
import { documentOperation } from '#query/openapi/service-operations.ts';

/** A new release is noticed within minutes, and no client asks more often. */
const MAX_AGE_SECONDS = 300;

export default async function openApi(app: FastifyInstance): Promise<void> {
  // Bytes: thousands of answers at once share them.
  let body = Buffer.alloc(0);
  let etag = '';
  app.addHook('onReady', async () => {
    body = Buffer.from(JSON.stringify(openApiDocument(app.routeTable)));
    etag = `W/"${hash('sha256', body, 'base64url').slice(0, 27)}"`;
  });
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi.json',
    config: { access: 'open', operation: documentOperation },
    handler: async (request, reply) => {
      reply
        .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
        .header('etag', etag)
        .header('vary', 'accept-encoding');
      const condition = conditionOf(request.headers['if-none-match']);
      if (condition === '*' || names(condition, etag)) return reply.code(304).send();
      return reply.header('content-type', 'application/json; charset=utf-8').send(body);
    },
  });
}
