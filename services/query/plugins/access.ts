/** Tokens, and the step that finds out who calls. */
import type { FastifyReply } from 'fastify';
import plugin from 'fastify-plugin';
import { createTokens } from '../token/access-tokens.ts';
import { authenticate, authenticateAgain } from '../access/steps.ts';

export default plugin(
  async (app) => {
    const { config, redisGates, control, signingKeys } = app;
    const tokens = createTokens(() => signingKeys, config.tokens);
    const sources = { gates: redisGates, control, prefix: config.namePrefix, quota: config.query.quota };
    const deadlineOf = (reply: FastifyReply) => app.deadlineOf(reply, null);
    app.decorate('tokens', tokens);
    app.decorateRequest('caller', null);
    app.decorateRequest('clientId', null);
    app.decorateRequest('refused', null);
    app.decorateRequest('values', null);
    app.decorate('authenticate', authenticate(tokens, sources, config.environments, deadlineOf));
    app.decorate('authenticateAgain', authenticateAgain(tokens, sources, app.boundedIn(null)));
  },
  { name: 'access', dependencies: ['mongodb', 'redis'] },
);
