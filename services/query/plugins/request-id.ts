/** `X-Request-Id` on every answer. */
import plugin from 'fastify-plugin';
import { REQUEST_ID_HEADER } from '#shared/request-id.ts';

export default plugin(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.header(REQUEST_ID_HEADER, request.id);
      done();
    });
  },
  { name: 'request-id' },
);
