/** `POST /api/auth/token/`: OAuth 2.0 client credentials (SPEC sections 4, 5 and 7). */
import type { FastifyInstance } from 'fastify';
import { forbidStoring } from '#query/answers/send.ts';
import { Refused } from '#query/answers/refusal.ts';
import { tokenOperation } from '#query/openapi/token-operation.ts';
import { queryOf } from '#query/parameters/query.ts';
import { authenticateClient, requireActive } from '#query/token/client.ts';
import { readForm } from '#query/token/form.ts';
import { issueToken } from '#query/token/issue.ts';
import { Published } from '#query/token/published.ts';
import { unsupportedGrantType } from '#query/token/refusals.ts';
import { grantedScopes } from '#query/token/scope.ts';

/** A token request is a few hundred bytes. */
const BODY_LIMIT = 16_384;

export default async function token(app: FastifyInstance): Promise<void> {
  const published = new Published();

  // Every body is taken as it is: whether it is a form is the first check's to say.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  app.post('/token/', {
    bodyLimit: BODY_LIMIT,
    config: { access: 'open', operation: tokenOperation },
    handler: async (request, reply) => {
      const { config, redis, redisGate, tokens } = app;
      const form = readForm(request.headers['content-type'], request.body, queryOf(request));
      const source = {
        lookUps: app.keyLookUps,
        bounded: app.deadlineOf(reply),
        failures: app.failedAuthentications,
      };
      const authenticated = await authenticateClient(source, config.environments, {
        authorization: request.headers.authorization,
        address: request.ip,
      });
      const { key, store, within } = authenticated;
      request.clientId = key._id;
      const scopes = await afterwards(within, () => {
        requireActive(authenticated);
        if (form.grantType !== 'client_credentials') throw new Refused(unsupportedGrantType());
        return grantedScopes(form.scope, key.scopes);
      });
      const issuer = {
        redis,
        tokens,
        prefix: config.namePrefix,
        lifetimeSeconds: config.tokens.lifetimeSeconds,
        published,
      };
      forbidStoring(reply);
      const passage = redisGate.enter();
      // A session whose token is not given away is of no use to anybody.
      const [response] = await Promise.all([issueToken(issuer, passage, key, store, scopes), within]);
      // In a Redis that went away the session may be lost already.
      redisGate.confirm(passage);
      return response;
    },
  });
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
