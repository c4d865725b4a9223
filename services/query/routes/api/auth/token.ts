/** `POST /api/auth/token/`: OAuth 2.0 client credentials (rules R4.1 to R4.7). */
import type { FastifyInstance } from 'fastify';
import { forbidStoring } from '#query/answers/send.ts';
import { Refused } from '#query/answers/refusal.ts';
import { tokenOperation } from '#query/openapi/token-operation.ts';
import { queryOf } from '#query/parameters/query.ts';
import { authenticateClient, readClaim, recognise, requireActive } from '#query/token/client.ts';
import { GRANT_TYPE, readForm, type TokenForm } from '#query/token/form.ts';
import { issueToken } from '#query/token/issue.ts';
import { issueToKnown } from '#query/token/issue-to-known.ts';
import type { KnownClient } from '#query/token/known-clients.ts';
import { unsupportedGrantType } from '#query/token/refusals.ts';
import { grantedScopes } from '#query/token/scope.ts';
import type { Scope } from '#shared/events/access-event.ts';

/** A token request is a few hundred bytes. */
const BODY_LIMIT = 16_384;

export default async function token(app: FastifyInstance): Promise<void> {
  // Every body is taken as it is: whether it is a form is the first check's to say.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  app.post('/token/', {
    bodyLimit: BODY_LIMIT,
    config: { access: 'open', operation: tokenOperation },
    handler: async (request, reply) => {
      const { config, redis, redisGate, tokens, knownClients: clients } = app;
      const { lifetimeSeconds } = config.tokens;
      const issuer = { redis, tokens, prefix: config.namePrefix, lifetimeSeconds };
      const form = readForm(request.headers['content-type'], request.body, queryOf(request));
      const { authorization, 'x-forwarded-for': forwardedFor } = request.headers;
      const address = app.clientAddress(request.raw.socket.remoteAddress, forwardedFor);
      const claim = readClaim(app.failedAuthentications, authorization, address);
      const known = recognise(clients, claim);
      if (known !== null) {
        const response = await issueToKnown(issuer, app, known, claim, form);
        if (response !== null) {
          request.clientId = known.key._id;
          forbidStoring(reply);
          return response;
        }
      }
      const source = { lookUps: app.keyLookUps, bounded: app.deadlineOf(reply), clients };
      const { client, within } = await authenticateClient(source, config.environments, claim);
      request.clientId = client.key._id;
      const scopes = await afterwards(within, () => scopesFor(client, form));
      forbidStoring(reply);
      const passage = redisGate.enter();
      // A session whose token is not given away is of no use to anybody.
      const [response] = await Promise.all([issueToken(issuer, client, scopes), within]);
      // In a Redis that went away the session may be lost already.
      redisGate.confirm(passage);
      return response;
    },
  });
}

/** @throws {Refused} 400, for the first of the reasons that rule R4.4 has in this order. */
function scopesFor(client: KnownClient, { grantType, scope }: TokenForm): Scope[] {
  requireActive(client);
  if (grantType !== GRANT_TYPE) throw new Refused(unsupportedGrantType());
  return grantedScopes(scope, client.key.scopes);
}

/** A refusal of ours is told only after the other check let the client through. */
async function afterwards<T>(other: Promise<void>, check: () => T): Promise<T> {
  try {
    return check();
  } catch (error) {
    await other;
    throw error;
  }
}
