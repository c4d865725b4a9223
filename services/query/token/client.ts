/**
 * Authenticates the client at the token endpoint and decides whether its key may get a token.
 * MongoDB decides, by a majority read. One atomic step stores the session in Redis, only if Redis
 * has the version of the key that was read: so a right that was removed meanwhile gets no token
 * (decision 0053).
 */
import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AccessKey,
  type ControlCollections,
  storeAccessId,
  validSecrets,
} from '#shared/access/access-keys.ts';
import { publishAll, publishedKey, publishedState, redisKeys } from '#shared/access/grants.ts';
import { secretMatches } from '#shared/access/secrets.ts';
import { unavailable } from '#shared/errors.ts';
import type { Scope } from '#shared/events/access-event.ts';
import { batched, type ReadOne } from '../batched.ts';
import type { WithDeadline } from '../deadline.ts';
import { decode } from '../parameters/read.ts';
import { type LiveAccessSources, redisScript, runScript } from '../access/live-access.ts';
import type { Client } from '../access/tokens.ts';
import { Refused } from '../responses/refusal.ts';
import type { ClientAddress } from '../access/client-address.ts';
import type { FailedAuthentications } from './failed-authentications.ts';
import { INVALID_CLIENT, tooManyTokens, UNAUTHORIZED_CLIENT } from './form.ts';

interface Credentials {
  clientId: string;
  clientSecret: string;
}

/** A session to be stored if the key may get tokens and has all of the scopes. */
interface WantedSession {
  id: string;
  seconds: number;
  scopes: readonly Scope[];
}

interface ClientSources extends Omit<LiveAccessSources, 'quota'> {
  attempt: FailedAuthentications;
  addressOf: ClientAddress;
  maxTokens: number;
  environments: readonly string[];
  readKey: ReadOne<string, AccessKey>;
}

/** Why authentication failed, for operators. If several apply, the first counts. */
const FAILURES = [
  'key_revoked',
  'environment_not_served',
  'secret_wrong',
  'client_unknown',
] as const;
type Failure = (typeof FAILURES)[number];

/**
 * The credentials, as sent and form-decoded: real clients send Basic credentials either plain (RFC
 * 7617) or form-encoded (RFC 6749 section 2.3.1). @throws {Refused} 401 `invalid_client` without
 * any.
 */
function readCredentials(header = '') {
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? [];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  if (colon === -1 || !isUtf8(bytes))
    throw new Refused({ ...INVALID_CLIENT, reason: 'credentials_missing' });
  const asSent: Credentials = {
    clientId: text.slice(0, colon),
    clientSecret: text.slice(colon + 1),
  };
  const clientId = decode(asSent.clientId);
  const clientSecret = decode(asSent.clientSecret);
  const decoded = clientId === null || clientSecret === null ? asSent : { clientId, clientSecret };
  return { decoded, candidates: [asSent, decoded] };
}

/** No client sends more encodings of encodings. */
const MAX_DECODINGS = 8;

/**
 * One spelling of all that name a `client_id`, encoded or not: its failures have one count. A name
 * may itself hold `+` or `%`.
 */
function spelledOnce(clientId: string): string {
  let name = clientId;
  for (let time = 0; time < MAX_DECODINGS; time += 1) {
    const decoded = decode(name);
    if (decoded === null || decoded === name) break;
    name = decoded;
  }
  return name;
}

/** Keys of one read. */
const MAX_KEYS = 1_000;

/**
 * Makes the read of keys. Requests that come during a read share the next one, so that a flood of
 * failures costs few reads. If a deposed primary returns an older version than Redis has, Redis
 * stores no session.
 */
export function keyReader(
  { keys }: ControlCollections,
  readDeadline: WithDeadline,
): ReadOne<string, AccessKey> {
  const read = async (ids: readonly string[]) => {
    const found = await readDeadline((signal) =>
      keys.find({ _id: { $in: [...ids] } }, { batchSize: MAX_KEYS + 1, signal }).toArray(),
    );
    const byId = new Map(found.map((key) => [key._id, key]));
    return ids.map((id) => byId.get(id));
  };
  return batched(read, { underWay: 1, requests: MAX_KEYS });
}

/** Minimum response time of a failure; hides timing differences. */
const FAILURE_MS = 10;
/** A read is repeated only if the key, or Redis, changed after it. */
const MAX_READS = 3;

/**
 * Makes the step that authenticates a client and stores the requested session. Every failure costs the same work and time.
 * @throws {Refused} 401 `invalid_client`; 400 `unauthorized_client` if the key is inactive or its store blocked; 429 `slow_down` after too
 * many failures, or if the only obstacle is that the key has the most live tokens it may have.
 */
export function authenticateClient(sources: ClientSources) {
  return async (
    { raw, headers }: FastifyRequest,
    session: WantedSession | null,
    requestDeadline: WithDeadline,
  ): Promise<Client> => {
    const { decoded, candidates } = readCredentials(headers.authorization);
    const address = sources.addressOf(raw.socket.remoteAddress, headers['x-forwarded-for']);
    const attempt = sources.attempt(spelledOnce(decoded.clientId), address);
    attempt.refuseIfCached();
    const began = performance.now();
    const limitChecked = attempt.refuseIfOverLimit();
    for (let reads = 0; reads < MAX_READS; reads += 1) {
      const [found] = await Promise.all([
        Promise.all(candidates.map((one) => findKey(sources, one, requestDeadline))),
        // Awaited before the decision: beyond the limit a client must not learn whether its secret
        // is right.
        limitChecked,
      ]);
      const key = found.find(({ failure }) => failure === null)?.key ?? null;
      const answer =
        key === null ? null : await storeSession(sources, key, session, requestDeadline);
      if (answer === 'out_of_date') continue;
      if (answer !== null && answer !== 'key_revoked') return answer;
      const failures = answer === null ? found : [{ clientId: key?._id ?? '', failure: answer }];
      const failed = await attempt.failed();
      await sleep(Math.max(0, FAILURE_MS - (performance.now() - began)));
      throw new Refused({ ...failed, ...whyRefused(failures) });
    }
    throw unavailable('Redis and MongoDB have different versions of a key');
  };
}

/**
 * Finds the key and why the credentials fail. It compares as much for an unknown key as for a known
 * one.
 */
async function findKey(
  { environments, readKey }: ClientSources,
  { clientId, clientSecret }: Credentials,
  requestDeadline: WithDeadline,
): Promise<{ clientId: string; key: AccessKey | null; failure: Failure | null }> {
  const key = await requestDeadline((signal) => readKey(clientId, signal));
  const isRight = secretMatches(clientSecret, key === null ? [] : validSecrets(key));
  const failureOf = () => {
    if (key === null) return 'client_unknown';
    if (!environments.includes(key.environment)) return 'environment_not_served';
    if (!isRight) return 'secret_wrong';
    return key.status === 'revoked' ? 'key_revoked' : null;
  };
  return { clientId, key, failure: failureOf() };
}

/** The reason for operators. An unknown `client_id` is left out: it may be a misplaced secret. */
function whyRefused(found: readonly { clientId: string; failure: Failure | null }[]) {
  for (const failure of FAILURES) {
    const clientId = found.find((one) => one.failure === failure)?.clientId;
    if (clientId !== undefined)
      return { reason: failure, ...(failure !== 'client_unknown' && { clientId }) };
  }
  return {};
}

/**
 * Stores a session if Redis has the version of the key that was read. The session and its entry in
 * the list of live tokens expire in the same millisecond, by the clock of Redis.
 */
const SCRIPT = redisScript(`
local client, version, session, seconds, max = unpack(ARGV)
local grant = redis.call('zrange', KEYS[1], 0, 0, 'rev', 'withscores')
local state = redis.call('zrange', KEYS[2], 0, 0, 'rev')[1]
if string.find((grant[1] or '') .. ' ', '^revoked ') then return {'key_revoked'} end
if tonumber(grant[2]) ~= tonumber(version) or not state then return {'out_of_date'} end
if string.find(state .. ' ', '^blocked ') then return {'store_blocked'} end
if session == '' then return {'allowed'} end

local tokens, time = KEYS[3], redis.call('time')
local at = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = at + seconds * 1000
local next = redis.call('zcard', tokens) - max
if next >= redis.call('zcount', tokens, '-inf', '(' .. at) then
  return {'too_many_tokens', redis.call('zrange', tokens, next, next, 'withscores')[2] - at}
end
-- The first write: a full Redis refuses it, and nothing that follows a write.
redis.call('set', KEYS[4], client, 'pxat', ends)
redis.call('zadd', tokens, ends, session)
redis.call('zremrangebyscore', tokens, '-inf', '(' .. at)
redis.call('pexpire', tokens, redis.call('zrange', tokens, -1, -1, 'withscores')[2] - at)
redis.call('zadd', KEYS[5], at, client)
return {'allowed'}`);

/**
 * Stores the session of a key that was just read.
 * @returns the client; `out_of_date` if Redis had another version: an older one has then been replaced.
 */
async function storeSession(
  { gates, prefix, maxTokens, control }: ClientSources,
  key: AccessKey,
  wanted: WantedSession | null,
  requestDeadline: WithDeadline,
): Promise<Client | 'key_revoked' | 'out_of_date'> {
  const { _id: clientId, environment, store_id: storeId, scopes } = key;
  if (key.status !== 'active')
    throw new Refused({ ...UNAUTHORIZED_CLIENT, reason: 'key_not_active', clientId });
  const session = wanted?.scopes.every((scope) => scopes.includes(scope)) ? wanted : null;
  const names = redisKeys(prefix, environment, storeId);
  const permit = gates.acquire(names.storeAccess);
  const [outcome, milliseconds] = await runScript(
    permit.master.redis,
    SCRIPT,
    [
      names.grant(clientId),
      names.storeAccess,
      names.tokens(clientId),
      names.session(session?.id ?? ''),
      names.lastTokens,
    ],
    [clientId, key.version, session?.id ?? '', session?.seconds ?? 0, maxTokens],
  );
  // A Redis that was lost or went back may not have the session.
  permit.assertValid();
  switch (outcome) {
    case 'allowed':
      return { clientId, environment, storeId, scopes };
    case 'store_blocked':
      throw new Refused({ ...UNAUTHORIZED_CLIENT, reason: outcome, clientId });
    case 'too_many_tokens':
      throw new Refused({ ...tooManyTokens(Number(milliseconds)), clientId });
    case 'key_revoked':
      return outcome;
    default: {
      const store = await requestDeadline((signal) =>
        control.stores.findOne({ _id: storeAccessId(environment, storeId) }, { signal }),
      );
      const state = publishedState(prefix, environment, storeId, store);
      await publishAll(permit.master, [publishedKey(prefix, key), state]);
      return 'out_of_date';
    }
  }
}
