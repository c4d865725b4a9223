/** `GET /openapi.json`: the description of this API, made once from what the routes declare. */
import type { FastifyInstance } from 'fastify';
import { sendStatic, staticContent, whenAsked } from '#query/answers/static-content.ts';
import { openApiDocument } from '#query/openapi/document.ts';
import { documentOperation } from '#query/openapi/service-operations.ts';

/** A new release is noticed within minutes, and no client asks more often. */
const MAX_AGE_SECONDS = 300;

export default async function openApi(app: FastifyInstance): Promise<void> {
  const document = whenAsked(() =>
    staticContent('application/json; charset=utf-8', JSON.stringify(openApiDocument(app.routeTable))),
  );
  // Before anybody asks: a document that cannot be made stops the service from starting.
  app.addHook('onReady', async () => {
    await document();
  });
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi.json',
    // Without the compression of answers, which would do it again for each.
    compress: false,
    config: { access: 'open', operation: documentOperation },
    handler: async (request, reply) =>
      sendStatic(request, reply, await document(), `public, max-age=${MAX_AGE_SECONDS}`),
  });
}
