/**
 * A `#` in a request target is refused: a fragment is nothing that a client sends (RFC 9112 section 3.2), and where one server
 * cuts there another goes on reading.
 */
import plugin from 'fastify-plugin';
import { invalidRequest, Refused } from '../answers/refusal.ts';

export default plugin(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const holdsFragment = request.raw.url?.includes('#') ?? false;
      done(
        holdsFragment
          ? new Refused(invalidRequest('the request target holds a #: encode it as %23'))
          : undefined,
      );
    });
  },
  { name: 'origin-form', dependencies: ['request-id', 'errors'] },
);
