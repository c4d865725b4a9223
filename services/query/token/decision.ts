/**
 * Decides about a token request in Redis, in one round trip (of a cluster two) and in one script that nothing comes between: where the
 * client's key belongs, whether the secret is right, what the key may do and whether its store is blocked. Where all is well the session
 * is there when the answer leaves Redis.
 */
import { decodeGrant } from '#shared/access/grants.ts';
import { clientKey, redisKeys } from '#shared/access/redis-keys.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { RedisGates } from '../access/redis-gates.ts';
import { redisScript, runScript } from '../redis-script.ts';
import type { Credentials } from './basic.ts';

/** A client whose key may get tokens. */
export interface Client {
  clientId: string;
  storeId: string;
  environment: string;
  /** What the key has. */
  scopes: Scope[];
}

/** Why somebody is not who they say they are. */
export const FAILURES = ['key_revoked', 'environment_not_served', 'secret_wrong', 'client_unknown'] as const;

/** The same, and why a key may get no tokens. */
const REFUSALS = [...FAILURES, 'key_not_active', 'store_blocked'] as const;

export type Decision =
  | { outcome: 'allowed'; client: Client }
  | { outcome: (typeof REFUSALS)[number] }
  /** Redis lacks a record, or has the client's with another version than the grant. */
  | { outcome: 'out_of_date'; grantVersion: number };

/** A session that is stored where a key may get tokens and has all of the scopes. */
export interface WantedSession {
  id: string;
  seconds: number;
  scopes: readonly Scope[];
}

export interface DecisionSources {
  redisGates: RedisGates;
  prefix: string;
  /** Those that this service serves. */
  environments: readonly string[];
}

/**
 * The names of the store's keys are those of `redisKeys`. Of a cluster `member` and `version` are the client's record, which lies elsewhere.
 * Secrets are compared by their hashes, which Lua keeps once each and compares by their place: the time it takes tells nothing.
 */
const SCRIPT = redisScript(`
local prefix, client, hash, now, environments, session, seconds, wanted, member, version = unpack(ARGV)
local function newest(key) return redis.call('zrange', key, 0, 0, 'rev', 'withscores') end
local function words(text)
  local list = {}
  for word in string.gmatch(text, '%S+') do
    list[#list + 1] = word
    list[word] = true
  end
  return list
end

local record = member and {member, version} or newest(KEYS[1])
if not record[1] then return {'client_unknown'} end
local known = words(record[1])
local store, environment = known[1], known[2]
if not words(environments)[environment] then return {'environment_not_served'} end

local tag = prefix .. ':{' .. store .. ':' .. environment .. '}'
local grant, state = newest(tag .. ':grant:' .. client), newest(tag .. ':store-access')
local rights = words(grant[1] or '')
if not rights.revoked and (grant[2] ~= record[2] or not state[1]) then
  return {'out_of_date', grant[2] or '0'}
end

local isRight = false
for index = 3, #known do
  local secret, ends = string.match(known[index], '^(%x+):?(%d*)$')
  if secret == hash and (ends == '' or tonumber(now) < tonumber(ends)) then isRight = true end
end
if not isRight then return {'secret_wrong'} end
if rights.revoked then return {'key_revoked'} end
if not rights.active then return {'key_not_active'} end
if words(state[1]).blocked then return {'store_blocked'} end

local holds = session ~= ''
for scope in string.gmatch(wanted, '%S+') do holds = holds and rights[scope] end
if holds then redis.call('set', tag .. ':session:' .. session, client, 'ex', seconds) end
return {'allowed', store, environment, grant[1]}`);

/**
 * Decides about one reading of a client's credentials.
 * @param session `null` where the request fails for another reason.
 * @throws when Redis is away.
 */
export async function decide(
  { redisGates, prefix, environments }: DecisionSources,
  { clientId, clientSecret }: Credentials,
  session: WantedSession | null,
): Promise<Decision> {
  const args = [
    prefix,
    clientId,
    hashSecret(clientSecret),
    Date.now(),
    environments.join(' '),
    session?.id ?? '',
    session?.seconds ?? 0,
    session?.scopes.join(' ') ?? '',
  ];
  let key = clientKey(prefix, clientId);
  let passage = redisGates.enter(key);
  if (passage.master.slots !== '') {
    // The store's keys may lie on another master: the script there is given the client's record, which counts only with the version of the grant.
    const record = await passage.master.redis.zrange(key, '0', '0', 'REV', 'WITHSCORES');
    passage.confirm();
    const [storeId = '', environment = ''] = record[0]?.split(' ') ?? [];
    if (storeId === '') return { outcome: 'client_unknown' };
    if (!environments.includes(environment)) return { outcome: 'environment_not_served' };
    key = redisKeys(prefix, environment, storeId).storeAccess;
    passage = redisGates.enter(key);
    args.push(...record);
  }
  const answer = await runScript(passage.master.redis, SCRIPT, [key], args);
  // In a Redis that went away or back, it may have been decided by what is no longer true, and the session may be lost.
  passage.confirm();
  const [outcome = '', ...facts] = answer as string[];
  if (outcome === 'allowed') {
    const [storeId = '', environment = '', grant] = facts;
    const scopes = decodeGrant(grant)?.scopes ?? [];
    if (session !== null) passage.noteSession(redisKeys(prefix, environment, storeId).session(session.id));
    return { outcome, client: { clientId, storeId, environment, scopes } };
  }
  if (outcome === 'out_of_date') return { outcome, grantVersion: Number(facts[0]) };
  const refusal = REFUSALS.find((known) => known === outcome);
  if (refusal === undefined) throw new Error(`Redis decided ${outcome}`);
  return { outcome: refusal };
}
