/**
 * What a verified token may do at this moment. One script in Redis looks at session, grant and store, and counts the request where it
 * passes (decision 0059); what Redis lost is loaded from MongoDB and put back.
 */
import { type ControlCollections, storeAccessId } from '#shared/access/access-keys.ts';
import { decodeGrant, publishAll, publishedKey, publishedState } from '#shared/access/grants.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { decodeStoreState } from '#shared/access/store-state.ts';
import type { Config } from '#shared/config.ts';
import { StoreDataError } from '#shared/errors.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { TokenClaims } from '../token/access-tokens.ts';
import type { Bounded } from '../deadline.ts';
import { redisScript, runScript } from '../redis-script.ts';
import { type QuotaState, quotaState } from './quota.ts';
import type { RedisGates } from './redis-gates.ts';
import type { Passage } from './redis-gate.ts';

export interface LiveAccess {
  /** The scopes that token and key both have. */
  scopes: Scope[];
  /** As it stands after the request was counted. */
  quota: QuotaState;
}

/** Why a token that is ours no longer counts. */
export type EndReason = 'session_ended' | 'key_not_active' | 'store_blocked';

export interface LiveAccessSources {
  gates: Pick<RedisGates, 'enter'>;
  control: ControlCollections;
  prefix: string;
  quota: Config['query']['quota'];
}

/**
 * The name of a count ends with its window's length, so that a quota with another window begins to count at once, and no count ever has
 * an end that does not belong to it. Who does not pass is not counted: a client that goes on with a revoked token takes nothing from its store.
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
if answer[5] == -1 then
  redis.call('expire', count, window)
  answer[5] = window * 1000
end
return answer`);

/**
 * Decides about a token, and counts its request where it passes; says why when the token no longer counts.
 * @throws when Redis, or MongoDB where it is needed, is away: an outage is neither a yes nor a no.
 */
export async function lookUpAccess(
  sources: LiveAccessSources,
  claims: TokenClaims,
  bounded: Bounded,
): Promise<LiveAccess | EndReason> {
  const found = await look(sources, claims, bounded, sources.quota.windowSeconds);
  if (typeof found === 'string') return found;
  return { scopes: found.scopes, quota: quotaState(found, sources.quota, found.store.quota) };
}

/**
 * Decides about a token whose request was counted before: the scopes that it has now, or why it no longer counts.
 * @throws as `lookUpAccess`.
 */
export async function lookAtAccess(
  sources: LiveAccessSources,
  claims: TokenClaims,
  bounded: Bounded,
): Promise<readonly Scope[] | EndReason> {
  const found = await look(sources, claims, bounded, '');
  return typeof found === 'string' ? found : found.scopes;
}

/** @param window the seconds of the configured window; empty for a request that is not to be counted. */
async function look(sources: LiveAccessSources, claims: TokenClaims, bounded: Bounded, window: number | '') {
  const keys = redisKeys(sources.prefix, claims.environment, claims.storeId);
  const passage = sources.gates.enter(keys.storeAccess);
  let found = await ask(passage, keys, claims, window);
  if (found.session === claims.clientId && (found.grant === null || found.store === null)) {
    await putBack(sources, passage, claims, bounded);
    found = await ask(passage, keys, claims, window);
  }
  passage.confirm();
  const { session, grant, store, consumed, milliseconds } = found;
  if (session !== claims.clientId) return 'session_ended';
  if (store === null) throw new StoreDataError('environment_unavailable', 'Redis keeps nothing');
  if (store.blocked) return 'store_blocked';
  // What there is no grant of there is no key of either.
  if (grant?.status !== 'active') return 'key_not_active';
  const scopes = grant.scopes.filter((scope) => claims.scopes.includes(scope));
  return { scopes, store, consumed, milliseconds };
}

async function ask(
  { master }: Passage,
  keys: ReturnType<typeof redisKeys>,
  { clientId, sessionId }: TokenClaims,
  window: number | '',
) {
  const names = [keys.session(sessionId), keys.grant(clientId), keys.storeAccess, keys.quota('')];
  const [session, grant, state, consumed, milliseconds] = await runScript(master.redis, SCRIPT, names, [
    clientId,
    window,
  ]);
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
  { master }: Passage,
  { clientId, environment, storeId }: TokenClaims,
  bounded: Bounded,
): Promise<void> {
  const [key, store] = await bounded((signal) =>
    Promise.all([
      control.keys.findOne({ _id: clientId, environment, store_id: storeId }, { signal }),
      control.stores.findOne({ _id: storeAccessId(environment, storeId) }, { signal }),
    ]),
  );
  const records = key === null ? [] : publishedKey(prefix, key);
  await publishAll(master, [
    // The client's record, which may lie on another server, is put back by whoever asks for a token.
    ...records.filter(({ isClient }) => isClient !== true),
    publishedState(prefix, environment, storeId, store),
  ]);
}

/** Looks again at one that was counted before. It fails as `lookAtAccess` does. */
type Look = (claims: TokenClaims, bounded: Bounded) => Promise<readonly Scope[] | EndReason>;

/**
 * Makes the look at requests that were held: thousands of one token may end in the same turn of the event loop. What is asked of Redis in a
 * turn leaves at its end.
 */
export function shareLooks(sources: LiveAccessSources): Look {
  const ofThisTurn = new Map<TokenClaims, ReturnType<Look>>();
  return (claims, bounded) => {
    const shared = ofThisTurn.get(claims);
    if (shared !== undefined) return shared;
    const look = lookAtAccess(sources, claims, bounded);
    ofThisTurn.set(claims, look);
    setImmediate(() => ofThisTurn.delete(claims));
    return look;
  };
}
