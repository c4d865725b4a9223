/**
 * Decides whether a request may pass, in the order of rule R5.1: 401, 429, 403. One script in Redis
 * reads session, grant and store, and counts the request if it passes (decision 0059). A grant that
 * Redis lost is loaded from MongoDB and put back.
 */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { type ControlCollections, storeAccessId } from '#shared/access/access-keys.ts';
import {
  decodeGrant,
  decodeStoreState,
  publishAll,
  publishedKey,
  publishedState,
  redisKeys,
} from '#shared/access/grants.ts';
import type { Config } from '#shared/config.ts';
import { unavailable } from '#shared/errors.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { WithDeadline } from '../deadline.ts';
import {
  insufficientScope,
  invalidToken,
  rateLimitExceeded,
  type RefusalReason,
  Refused,
} from '../responses/refusal.ts';
import type { Permit, RedisGates } from './redis-gate.ts';
import type { Client, TokenClaims, Tokens } from './tokens.ts';

/**
 * Makes the step that authenticates the caller and enforces the quota. A counted request gets the
 * quota headers on every answer.
 */
export function authenticate(
  tokens: Tokens,
  sources: LiveAccessSources,
  environments: readonly string[],
  deadlineOf: (reply: FastifyReply) => WithDeadline,
) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<Client> => {
    const { authorization } = request.headers;
    const token = bearerToken(authorization);
    if (token === null) {
      throw new Refused({ ...invalidToken(bearerMissing(authorization)), reason: 'token_missing' });
    }
    const claims = await tokens.verify(token);
    if (claims === null) throw refusedToken('token_invalid');
    const { storeId, environment, clientId } = claims;
    if (!environments.includes(environment)) throw refusedToken('environment_not_served', clientId);
    const live = await authorize(sources, claims, deadlineOf(reply), sources.quota.windowSeconds);
    if (typeof live === 'string') {
      tokens.forget(token);
      throw refusedToken(live, clientId);
    }
    tokens.remember(token, claims);
    request.clientId = clientId;
    const caller = { clientId, storeId, environment, scopes: live.scopes };
    request.caller = caller;
    const { consumed, milliseconds, store } = live;
    const limit = store.quota?.requests ?? sources.quota.requests;
    const seconds = store.quota?.window_seconds ?? sources.quota.windowSeconds;
    // Rounded up, and at least 1: a count still holds in the millisecond in which it ends.
    const reset = Math.min(seconds, Math.floor(milliseconds / 1_000) + 1);
    reply.header('ratelimit-policy', `"store";q=${limit};w=${seconds}`);
    reply.header('ratelimit', `"store";r=${Math.max(0, limit - consumed)};t=${reset}`);
    if (consumed > limit)
      throw new Refused({ ...rateLimitExceeded(reset), reason: 'quota_exceeded' });
    return caller;
  };
}

/**
 * Makes the step that authorizes the caller of a held request again. It throws `Refused` if the
 * caller may no longer pass.
 */
export function reauthorize(tokens: Tokens, sources: LiveAccessSources, bounded: WithDeadline) {
  const ofThisTurn = new Map<TokenClaims, ReturnType<typeof authorize>>();
  // Thousands of requests with one token may end in the same turn of the event loop: they share one
  // decision.
  const decide = (claims: TokenClaims) => {
    const shared = ofThisTurn.get(claims);
    if (shared !== undefined) return shared;
    const deciding = authorize(sources, claims, bounded, '');
    ofThisTurn.set(claims, deciding);
    setImmediate(() => ofThisTurn.delete(claims));
    return deciding;
  };
  return async ({ headers, clientId }: FastifyRequest, required: readonly Scope[]) => {
    const claims = await tokens.verify(bearerToken(headers.authorization) ?? '');
    const live = claims === null ? 'token_invalid' : await decide(claims);
    if (typeof live === 'string') throw refusedToken(live, clientId);
    requireScopes(required, live.scopes);
  };
}

/** The same words for every reason: the reason would help an attacker. */
function refusedToken(reason: RefusalReason, clientId: string | null = null): Refused {
  const refusal = invalidToken('the token is invalid, expired or revoked');
  return new Refused({ ...refusal, reason, clientId });
}

export function requireScopes(required: readonly Scope[], scopes: readonly Scope[]): void {
  const missing = required.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0)
    throw new Refused({ ...insufficientScope(required, missing), reason: 'scope_missing' });
}

/** The token; `null` when the header is missing or of another kind. */
export function bearerToken(header: string | undefined): string | null {
  return header === undefined
    ? null
    : (/^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)?.[1] ?? null);
}

/** Schemes of other APIs. Only these are repeated in an answer: anything else may be a secret. */
const FOREIGN_SCHEME = /^(?:Token|JWT|Api-?Key|Digest|OAuth)(?=\s)/i;

/**
 * What is wrong with a header without a bearer token, in words that a quoted string of a header may
 * hold.
 */
export function bearerMissing(header: string | undefined): string {
  if (header === undefined || header.trim() === '') {
    return 'a bearer token is required: Authorization: Bearer <access_token>, from POST /api/auth/token/';
  }
  if (/^Basic\b/i.test(header)) {
    return 'Basic credentials get a token at POST /api/auth/token/; here a bearer token is required: Authorization: Bearer <access_token>';
  }
  if (/^Bearer\b/i.test(header)) return 'the value after Bearer is not a token';
  const words = 'Authorization: Bearer <access_token>';
  if (!/^\S+\s+\S/.test(header)) return `the Authorization header has no scheme: ${words}`;
  const [scheme] = FOREIGN_SCHEME.exec(header) ?? [];
  return `the scheme of the Authorization header must be Bearer${scheme === undefined ? '' : `, not ${scheme}`}: ${words}`;
}

export interface LiveAccessSources {
  gates: RedisGates;
  control: ControlCollections;
  prefix: string;
  quota: Config['query']['quota'];
}

/**
 * A window begins with its first request. The name of a count ends with the length of its window: a
 * quota with another window begins a new count. A refused request is not counted: a client with a
 * revoked token takes nothing from its store's quota.
 */
const SCRIPT = redisScript(`
local client, window = unpack(ARGV)
local function newest(key) return redis.call('zrange', key, 0, 0, 'rev')[1] end
local session, grant, state = redis.call('get', KEYS[1]), newest(KEYS[2]), newest(KEYS[3])
local answer = {session, grant or false, state or false}
if window == '' or session ~= client or not grant or not state then return answer end
if not string.find(grant .. ' ', '^active ') or string.gsub(state, ' %d+', '') ~= 'active' then return answer end

window = string.match(state, '^active %d+ (%d+)$') or window
local count = KEYS[4] .. window
redis.call('set', count, 0, 'ex', window, 'nx')
answer[4] = redis.call('incr', count)
answer[5] = redis.call('pttl', count)
-- Longer than a window only if the clock was set back, or another server's clock counts now.
if answer[5] == -1 or answer[5] > window * 1000 then
  redis.call('expire', count, window)
  answer[5] = window * 1000
end
return answer`);

/**
 * The script's keys, made once for each verified token: authorizing then allocates much less
 * (decision 0059).
 */
const scriptKeys = new WeakMap<TokenClaims, readonly [string, string, string, string]>();

function scriptKeysOf(prefix: string, claims: TokenClaims) {
  const known = scriptKeys.get(claims);
  if (known !== undefined) return known;
  const keys = redisKeys(prefix, claims.environment, claims.storeId);
  const made = [
    keys.session(claims.sessionId),
    keys.grant(claims.clientId),
    keys.storeAccess,
    keys.quota(''),
  ] as const;
  scriptKeys.set(claims, made);
  return made;
}

/**
 * Authorizes a token, or returns why it is refused. @throws during an outage: it is neither yes nor no.
 * @param window the seconds of the configured window; empty to authorize without counting.
 */
async function authorize(
  sources: LiveAccessSources,
  claims: TokenClaims,
  bounded: WithDeadline,
  window: number | '',
) {
  const keys = scriptKeysOf(sources.prefix, claims);
  const permit = sources.gates.acquire(keys[2]);
  const ask = async () =>
    decodeAnswer(await runScript(permit.master.redis, SCRIPT, keys, [claims.clientId, window]));
  let found = await ask();
  if (found.session === claims.clientId && (found.grant === null || found.store === null)) {
    await putBack(sources, permit, claims, bounded);
    found = await ask();
  }
  permit.assertValid();
  const { session, grant, store, consumed, milliseconds } = found;
  if (session !== claims.clientId) return 'session_ended';
  if (store === null) throw unavailable('Redis lost the state of the store that was just written');
  if (store.blocked) return 'store_blocked';
  // Where no grant was put back, there is no key either.
  if (grant?.status !== 'active') return 'key_not_active';
  const scopes = grant.scopes.filter((scope) => claims.scopes.includes(scope));
  return { scopes, store, consumed, milliseconds };
}

function decodeAnswer([session, grant, state, consumed, milliseconds]: unknown[]) {
  return {
    session,
    grant: decodeGrant((grant ?? undefined) as string | undefined),
    store: decodeStoreState((state ?? undefined) as string | undefined),
    consumed: Number(consumed),
    milliseconds: Number(milliseconds),
  };
}

async function putBack(
  { control, prefix }: LiveAccessSources,
  { master }: Permit,
  { clientId, environment, storeId }: TokenClaims,
  bounded: WithDeadline,
): Promise<void> {
  const [key, store] = await bounded((signal) =>
    Promise.all([
      control.keys.findOne({ _id: clientId, environment, store_id: storeId }, { signal }),
      control.stores.findOne({ _id: storeAccessId(environment, storeId) }, { signal }),
    ]),
  );
  await publishAll(master, [
    ...(key === null ? [] : [publishedKey(prefix, key)]),
    publishedState(prefix, environment, storeId, store),
  ]);
}

/** A script that Redis runs atomically, with the hash by which Redis knows it. */
interface RedisScript {
  text: string;
  name: string;
}

export function redisScript(text: string): RedisScript {
  return { text, name: hash('sha1', text) };
}

export async function runScript(
  redis: Redis,
  { text, name }: RedisScript,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown[]> {
  const given = [keys.length, ...keys, ...args];
  try {
    return (await redis.call('evalsha', name, ...given)) as unknown[];
  } catch (error) {
    // A restarted Redis does not know the script yet.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return (await redis.call('eval', text, ...given)) as unknown[];
  }
}
