/** `POST /api/auth/token/`: OAuth 2.0 client credentials (R3, R4), as the list of its steps. */
import { newSessionId } from '#shared/access/grants.ts';
import { forbidStoring, TOKEN_PATH } from '../responses/send.ts';
import { routePlugin, type Route } from '../endpoints/route.ts';
import { tokenOperation } from '../openapi/operations.ts';
import { queryOf } from '../parameters/read.ts';
import { requireActive } from '../token/client.ts';
import { GRANT_TYPE, readForm, requireGrantType, grantedScopes, scopesNeeded } from '../token/form.ts';

/** A token request is a few hundred bytes. */
const BODY_LIMIT = 16_384;

const tokenRoute: Route = {
  method: 'POST',
  path: TOKEN_PATH,
  access: 'open',
  operation: tokenOperation,
  bodyLimit: BODY_LIMIT,
  async handler(request, reply) {
    const { services } = request.server;
    const { lifetimeSeconds } = services.config.tokens;
    // 400 invalid_request
    const form = readForm(request.headers['content-type'], request.body, queryOf(request));
    // 401 invalid_client, 429 slow_down; where nothing below can fail, the session is stored by the same decision
    const sessionId = newSessionId();
    const needed = form.grantType === GRANT_TYPE ? scopesNeeded(form.scope) : null;
    const session = needed === null ? null : { id: sessionId, seconds: lifetimeSeconds, scopes: needed };
    const authenticated = await services.authenticateClient(request, session, services.requestDeadline(reply, null));
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
      access_token: await services.tokens.issue({ sessionId, ...client, scopes }),
      token_type: 'Bearer',
      expires_in: lifetimeSeconds,
      scope: scopes.join(' '),
    };
  },
};

export default routePlugin([tokenRoute]);
