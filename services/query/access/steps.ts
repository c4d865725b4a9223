/** The steps that decide whether a request may pass, in the order of rule R5.1: 401, 429, 403. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { QuotaState } from './quota.ts';
import type { Tokens } from '../token/access-tokens.ts';
import type { Scope } from '#shared/events/access-event.ts';
import {
  insufficientScope,
  invalidToken,
  rateLimitExceeded,
  type RefusalReason,
  Refused,
} from '../answers/refusal.ts';
import type { Bounded } from '../deadline.ts';
import { bearerMissing, bearerToken } from './bearer.ts';
import { type LiveAccessSources, lookUpAccess, shareLooks } from './live-access.ts';

/** Who makes a request, and what they may do at this moment. */
export interface Caller {
  clientId: string;
  storeId: string;
  environment: string;
  scopes: readonly Scope[];
  quota: QuotaState;
}

export type Step = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** Makes the step that finds out who calls; from here on every answer tells the quota. */
export function authenticate(
  tokens: Tokens,
  sources: LiveAccessSources,
  environments: readonly string[],
  deadlineOf: (reply: FastifyReply) => Bounded,
): Step {
  return async (request, reply) => {
    const { authorization } = request.headers;
    const token = bearerToken(authorization);
    if (token === null) {
      throw new Refused({ ...invalidToken(bearerMissing(authorization)), reason: 'token_missing' });
    }
    const claims = await tokens.verify(token);
    if (claims === null) throw refusedToken('token_invalid');
    const { storeId, environment, clientId } = claims;
    if (!environments.includes(environment)) throw refusedToken('environment_not_served', clientId);
    const live = await lookUpAccess(sources, claims, deadlineOf(reply));
    if (typeof live === 'string') throw refusedToken(live, clientId);
    const { scopes, quota } = live;
    request.caller = { clientId, storeId, environment, scopes, quota };
    reply.header('ratelimit-policy', `"store";q=${quota.limit};w=${quota.windowSeconds}`);
    reply.header('ratelimit', `"store";r=${quota.remaining};t=${quota.resetSeconds}`);
  };
}

/** @throws {Refused} where the caller may no longer pass. */
export type LookAgain = (
  request: FastifyRequest,
  reply: FastifyReply,
  scopes: readonly Scope[],
) => Promise<void>;

/** Makes the step that looks again at the caller of a request that was held. */
export function authenticateAgain(tokens: Tokens, sources: LiveAccessSources, bounded: Bounded): LookAgain {
  const look = shareLooks(sources);
  return async (request, reply, required) => {
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

/** The same words for every reason: they would help whoever tries tokens. */
function refusedToken(reason: RefusalReason, clientId?: string): Refused {
  const refusal = invalidToken('the token is invalid, expired or revoked');
  return new Refused({ ...refusal, reason, ...(clientId === undefined ? {} : { clientId }) });
}

/** Stops a store that has used up its quota. */
export const enforceQuota: Step = async (request) => {
  const { quota } = callerOf(request);
  if (!quota.allowed) {
    throw new Refused({ ...rateLimitExceeded(quota.resetSeconds), reason: 'quota_exceeded' });
  }
};

/** Makes the step that stops a token without all of the scopes. */
export function requireScopes(required: readonly Scope[]): Step {
  return async (request) => {
    refuseMissing(required, callerOf(request).scopes);
  };
}

function refuseMissing(required: readonly Scope[], scopes: readonly Scope[]): void {
  const missing = required.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0) {
    throw new Refused({ ...insufficientScope(required, missing), reason: 'scope_missing' });
  }
}

/** The caller of a request that was authenticated. */
export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request;
  if (caller === null) throw new Error('the route does not authenticate');
  return caller;
}
