/** The steps that decide whether a request may pass, in the order of rule R5.1: 401, 429, 403. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type LiveAccessSources, authorizeAndCount, type QuotaState, shareAuthorizing } from './live-access.ts';
import type { Client, Tokens } from './tokens.ts';
import type { Scope } from '#shared/events/access-event.ts';
import {
  insufficientScope,
  invalidToken,
  rateLimitExceeded,
  type RefusalReason,
  Refused,
} from '../responses/refusal.ts';
import type { WithDeadline } from '../deadline.ts';

export interface Caller extends Client {
  quota: QuotaState;
}

/** Makes the step that authenticates the caller and enforces the quota. Once it was counted every answer has the quota headers. */
export function authenticate(
  tokens: Tokens,
  sources: LiveAccessSources,
  environments: readonly string[],
  deadlineOf: (reply: FastifyReply) => WithDeadline,
) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { authorization } = request.headers;
    const token = bearerToken(authorization);
    if (token === null) {
      throw new Refused({ ...invalidToken(bearerMissing(authorization)), reason: 'token_missing' });
    }
    const claims = await tokens.verify(token);
    if (claims === null) throw refusedToken('token_invalid');
    const { storeId, environment, clientId } = claims;
    if (!environments.includes(environment)) throw refusedToken('environment_not_served', clientId);
    const live = await authorizeAndCount(sources, claims, (read) => deadlineOf(reply)(read));
    if (typeof live === 'string') throw refusedToken(live, clientId);
    const { scopes, quota } = live;
    request.caller = { clientId, storeId, environment, scopes, quota };
    reply.header('ratelimit-policy', `"store";q=${quota.limit};w=${quota.windowSeconds}`);
    reply.header('ratelimit', `"store";r=${quota.remaining};t=${quota.resetSeconds}`);
    if (!quota.allowed) throw new Refused({ ...rateLimitExceeded(quota.resetSeconds), reason: 'quota_exceeded' });
  };
}

/** Makes the step that looks again at the caller of a request that was held. */
export function reauthorize(tokens: Tokens, sources: LiveAccessSources, bounded: WithDeadline) {
  const look = shareAuthorizing(sources);
  /** @throws {Refused} where the caller may no longer pass. */
  return async (request: FastifyRequest, reply: FastifyReply, required: readonly Scope[]) => {
    const { clientId } = callerOf(request);
    const claims = await tokens.verify(bearerToken(request.headers.authorization) ?? '');
    const scopes = claims === null ? 'token_invalid' : await look(claims, bounded);
    if (typeof scopes === 'string') {
      // As of any other request whose token does not pass.
      reply.removeHeader('ratelimit-policy').removeHeader('ratelimit');
      throw refusedToken(scopes, clientId);
    }
    refuseMissing(required, scopes);
  };
}

/** The same words for every reason: the reason would help an attacker. */
function refusedToken(reason: RefusalReason, clientId?: string): Refused {
  const refusal = invalidToken('the token is invalid, expired or revoked');
  return new Refused({ ...refusal, reason, ...(clientId === undefined ? {} : { clientId }) });
}

export function requireScopes(request: FastifyRequest, required: readonly Scope[]): void {
  refuseMissing(required, callerOf(request).scopes);
}

function refuseMissing(required: readonly Scope[], scopes: readonly Scope[]): void {
  const missing = required.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0) throw new Refused({ ...insufficientScope(required, missing), reason: 'scope_missing' });
}

export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request;
  if (caller === null) throw new Error('the route does not authenticate');
  return caller;
}

/** The token; `null` when the header is missing or of another kind. */
export function bearerToken(header: string | undefined): string | null {
  return header === undefined ? null : (/^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)?.[1] ?? null);
}

/** What other APIs expect; only these are repeated, since a secret may stand in a scheme's place. */
const FOREIGN_SCHEME = /^(?:Token|JWT|Api-?Key|Digest|OAuth)(?=\s)/i;

/** What is missing where there is no bearer token, in words that may stand in a header's quoted string. */
export function bearerMissing(header: string | undefined): string {
  if (header === undefined || header.trim() === '') {
    return 'a bearer token is required: Authorization: Bearer <access_token>, from POST /api/auth/token/';
  }
  if (/^Basic\b/i.test(header)) {
    return 'Basic credentials get a token at POST /api/auth/token/; here a bearer token is required: Authorization: Bearer <access_token>';
  }
  if (/^Bearer\b/i.test(header)) return 'what follows Bearer is no token';
  const words = 'Authorization: Bearer <access_token>';
  if (!/^\S+\s+\S/.test(header)) return `the Authorization header has no scheme: ${words}`;
  const [scheme] = FOREIGN_SCHEME.exec(header) ?? [];
  return `the scheme of the Authorization header must be Bearer${scheme === undefined ? '' : `, not ${scheme}`}: ${words}`;
}
