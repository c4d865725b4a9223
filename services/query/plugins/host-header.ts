/** HTTP/1.1 requires a `Host` header (RFC 9112 section 3.2); Node's own refusal would have no body. */
import plugin from 'fastify-plugin';
import { invalidRequest, Refused } from '../answers/refusal.ts';

export default plugin(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { httpVersion, headers } = request.raw;
      const missing = httpVersion === '1.1' && headers.host === undefined;
      done(missing ? new Refused(invalidRequest('the Host header is required')) : undefined);
    });
  },
  { name: 'host-header', dependencies: ['request-id', 'errors'] },
);
