/** `GET /openapi.json`: the description of this API, made once from what the routes declare. */
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyInstance } from 'fastify';
import { conditionOf, names } from '#query/answers/etag.ts';
import { openApiDocument } from '#query/openapi/document.ts';
import { documentOperation } from '#query/openapi/service-operations.ts';

/** A new release is noticed within minutes, and no client asks more often. */
const MAX_AGE_SECONDS = 300;

const ENCODINGS = ['br', 'gzip', 'identity'] as const;
type Encoding = (typeof ENCODINGS)[number];

export default async function openApi(app: FastifyInstance): Promise<void> {
  // Everybody may ask for it, without a token: so it is compressed once, and never for a request.
  const bodies = new Map<Encoding, Buffer>();
  let etag = '';
  app.addHook('onReady', async () => {
    const body = Buffer.from(JSON.stringify(openApiDocument(app.routeTable)));
    bodies.set('identity', body);
    bodies.set('gzip', await promisify(gzip)(body));
    bodies.set('br', await promisify(brotliCompress)(body));
    etag = `W/"${hash('sha256', body, 'base64url').slice(0, 27)}"`;
  });
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi.json',
    // Without the compression of answers, which would do it again for each.
    compress: false,
    config: { access: 'open', operation: documentOperation },
    handler: async (request, reply) => {
      reply
        .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
        .header('etag', etag)
        .header('vary', 'accept-encoding');
      const condition = conditionOf(request.headers['if-none-match']);
      if (condition === '*' || names(condition, etag)) return reply.code(304).send();
      const encoding = encodingFor(request.headers['accept-encoding']);
      if (encoding !== 'identity') reply.header('content-encoding', encoding);
      return reply.header('content-type', 'application/json; charset=utf-8').send(bodies.get(encoding));
    },
  });
}

/** The encoding that a client prefers; none where it does not say, or wants another. */
function encodingFor(accepted: string | string[] | undefined): Encoding {
  if (typeof accepted !== 'string') return 'identity';
  return negotiate(accepted.toLowerCase(), [...ENCODINGS]) ?? 'identity';
}
