/** `POST /api/auth/token/`: OAuth 2.0 client credentials (R3, R4), as the list of its steps. */
import type { FastifyInstance } from 'fastify';
import { newSessionId } from '#shared/access/sessions.ts';
import { forbidStoring } from '#query/answers/send.ts';
import { tokenOperation } from '#query/openapi/token-operation.ts';
import { queryOf } from '#query/parameters/read.ts';
import { requireActive } from '#query/token/client.ts';
import { GRANT_TYPE, readForm, requireGrantType } from '#query/token/form.ts';
import { grantedScopes, scopesNeeded } from '#query/token/scope.ts';

/** A token request is a few hundred bytes. */
const BODY_LIMIT = 16_384;

export default async function token(app: FastifyInstance): Promise<void> {
  // Every body is taken as it is: whether it is a form is the first check's to say.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  app.post('/token/', {
    bodyLimit: BODY_LIMIT,
    config: { access: 'open', operation: tokenOperation },
    handler: async (request, reply) => {
      const { lifetimeSeconds } = app.config.tokens;
      // 400 invalid_request
      const form = readForm(request.headers['content-type'], request.body, queryOf(request));
      // 401 invalid_client, 429 slow_down; where nothing below can fail, the session is stored by the same decision
      const sessionId = newSessionId();
      const needed = form.grantType === GRANT_TYPE ? scopesNeeded(form.scope) : null;
      const session = needed === null ? null : { id: sessionId, seconds: lifetimeSeconds, scopes: needed };
      const authenticated = await app.authenticateClient(request, session, app.deadlineOf(reply, null));
      // 400 unauthorized_client
      const { scopes: held, ...client } = requireActive(authenticated);
      // 400 unsupported_grant_type
      requireGrantType(form);
      // 400 invalid_scope
      const scopes = grantedScopes(form.scope, held);
      // 200
      request.clientId = client.clientId;
      forbidStoring(reply);
      return {
        access_token: await app.tokens.issue({ sessionId, ...client, scopes }),
        token_type: 'Bearer',
        expires_in: lifetimeSeconds,
        scope: scopes.join(' '),
      };
    },
  });
}
