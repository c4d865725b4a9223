/** `POST /api/auth/token/`: OAuth 2.0 client credentials (R3, R4), as the list of its steps. */
import { newSessionId } from '#shared/access/grants.ts';
import { forbidStoring, TOKEN_PATH } from '../responses/send.ts';
import { routePlugin, type Route } from '../endpoints/data-endpoint.ts';
import { tokenOperation } from '../openapi/operations.ts';
import { queryOf } from '../parameters/read.ts';
import { Refused } from '../responses/refusal.ts';
import {
  GRANT_TYPE,
  readForm,
  grantedScopes,
  scopesWithin,
  UNSUPPORTED_GRANT_TYPE,
} from '../token/form.ts';
import { SCOPES } from '#shared/events/access-event.ts';

const tokenRoute: Route = {
  method: 'POST',
  path: TOKEN_PATH,
  operation: tokenOperation,
  async handler(request, reply) {
    const { services } = request.server;
    const { lifetimeSeconds } = services.config.tokens;
    // 400 invalid_request
    const form = readForm(request.headers['content-type'], request.body, queryOf(request));
    // 401 invalid_client, 429 slow_down, 400 unauthorized_client; if nothing below can fail, the
    // session is stored by the same decision
    const sessionId = newSessionId();
    const isSupported = form.grantType === GRANT_TYPE;
    const needed = form.scope === null ? [] : scopesWithin(form.scope, SCOPES);
    const session =
      isSupported && needed !== null
        ? { id: sessionId, seconds: lifetimeSeconds, scopes: needed }
        : null;
    const { scopes: held, ...client } = await services.authenticateClient(
      request,
      session,
      services.requestDeadline(reply),
    );
    // 400 unsupported_grant_type
    if (!isSupported) throw new Refused(UNSUPPORTED_GRANT_TYPE);
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
