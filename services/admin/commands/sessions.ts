/** `sessions list`: the live sessions of a store, from Redis; `sessions revoke` ends one. */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { text as readText } from 'node:stream/consumers';
import type { RevokedSession } from '#shared/access/access-keys.ts';
import { redisKeys, endRevokedSession, noteRevocation } from '#shared/access/grants.ts';
import { commandInvalid, unavailable } from '#shared/errors.ts';
import { CLIENT_ID_PATTERN } from '#shared/events/access-event.ts';
import { isId } from '#shared/events/fields.ts';
import { nodeFor } from '#shared/redis-masters.ts';
import { withTimeLimit } from '#shared/waiting.ts';
import { UNTIL_REDIS_IS_BACK } from '../access/change.ts';
import { audited, messageOf } from '../audit.ts';
import { openEnvironment, openServers, type Servers } from '../servers.ts';
import { scanPrefix } from './erase.ts';
import {
  clientId as readClientId,
  command,
  environmentOption,
  limitOption,
  oneEnvironmentOption,
  storeOption,
  WrongUsage,
} from '../options.ts';
import { markFailed, printFacts, printRows, remark, formatDuration } from '../output.ts';

export const listCommand = () =>
  command('list', 'List the sessions of a store whose tokens are valid')
    .addOption(storeOption('the store').makeOptionMandatory())
    .addOption(oneEnvironmentOption())
    .option('-c, --client <id>', 'only those of a key', readClientId)
    .addOption(limitOption(100))
    .action(async (flags) => {
      await using chosen = await openEnvironment(flags);
      const { servers, name: environment } = chosen;
      const { limit, client } = flags;
      const own = redisKeys(servers.config.namePrefix, environment, flags.store).session('');
      // All sessions of a store are on one node.
      const redis = nodeFor(await servers.redis(), own);
      const found = [];
      for await (const names of scanPrefix(redis, own)) {
        for (const name of names) {
          const [client_id, seconds_left] = await Promise.all([redis.get(name), redis.ttl(name)]);
          if (client_id === null || seconds_left < 0 || client_id !== (client ?? client_id))
            continue;
          found.push({ session_id: name.slice(own.length), client_id, seconds_left });
        }
        if (found.length > limit) break;
      }
      const rows = found.toSorted((a, b) => b.seconds_left - a.seconds_left);
      printRows(
        rows,
        [
          'session_id',
          'client_id',
          ['ENDS IN', ({ seconds_left }) => formatDuration(seconds_left * 1_000)],
        ],
        limit,
      );
    });

/** The longest lifetime that a token can be configured to have. */
const MAX_LIFETIME_MS = 86_400_000;
const IS_LIVE_MS = 1_000;

export const revokeCommand = () =>
  command('revoke', 'End a session, at once: its token answers 401')
    .argument('[session_id]', 'the session, with the three options that say whose it is')
    .addOption(storeOption('store of the session'))
    .addOption(environmentOption('environment of the session'))
    .option('-c, --client <id>', 'client_id of the session', readClientId)
    .option('--token', 'read the token from standard input instead')
    .action(async (id, flags) => {
      const session = flags.token ? await sessionFromInput(id, flags) : sessionFromFlags(id, flags);
      await using servers = await openServers();
      servers.demandAll();
      const { _id: session_id, environment, store_id, client_id, expires_at } = session;
      servers.environmentOf(session);
      if (Number(expires_at) <= Date.now()) remark('note: the token has expired already');
      const about = { environment, store_id, client_id, session_id };
      const { was_live, revoked_before } = await audited(
        servers,
        { action: 'sessions.revoke', ...about, details: {} },
        async () => {
          const wasLive = await isLiveNow(servers, session);
          const { revokedSessions } = await servers.access();
          const revoked_before = await noteRevocation(revokedSessions, session, expires_at);
          return { was_live: (await endNow(servers, session)) || wasLive, revoked_before };
        },
        (details) => ({ details }),
      );
      if (was_live === false && !revoked_before && Number(expires_at) > Date.now()) {
        markFailed();
        remark(
          `store-data: the revocation is stored, but no such session was live for store ${store_id} in ${environment}: ` +
            'it has expired, or these are not its store and environment',
        );
      }
      printFacts({ session_id, store: store_id, environment, client_id, was_live, revoked_before });
    });

interface Flags {
  store?: string | undefined;
  environment?: string | undefined;
  client?: string | undefined;
}

/**
 * Whether the session is live, before a service can end it. `null` if Redis is slow: no
 * revocation waits for that.
 */
async function isLiveNow(
  servers: Servers,
  { _id, environment, store_id }: Session,
): Promise<boolean | null> {
  const key = redisKeys(servers.config.namePrefix, environment, store_id).session(_id);
  const ask = async () => (await nodeFor(await servers.redis(), key).exists(key)) === 1;
  return withTimeLimit(IS_LIVE_MS, () => new Error('Redis is slow'), ask).catch(() => null);
}

/**
 * @returns whether the session was live.
 * @throws {StoreDataError} `environment_unavailable`: the revocation is stored nevertheless.
 */
async function endNow(servers: Servers, session: Session): Promise<boolean> {
  try {
    const [redis, { revokedSessions }] = [await servers.redis(), await servers.access()];
    return await endRevokedSession(redis, revokedSessions, servers.config.namePrefix, session);
  } catch (error) {
    throw unavailable(
      `the revocation of session ${session._id} is in MongoDB and stays, but: ${messageOf(error)}; ${UNTIL_REDIS_IS_BACK}`,
      error,
    );
  }
}

async function sessionFromInput(id: string | undefined, flags: Flags): Promise<Session> {
  const given = [id, flags.store, flags.environment, flags.client];
  if (given.some((one) => one !== undefined)) {
    throw new WrongUsage(
      '--token names everything: give no session id, --store, --environment or --client',
    );
  }
  if (process.stdin.isTTY) remark('paste the token and end with Enter and Ctrl-D');
  const session = sessionOfToken((await readText(process.stdin)).trim());
  if (session === null)
    throw commandInvalid('standard input is not an access token of this installation');
  return {
    ...session,
    expires_at: new Date(Math.min(Number(session.expires_at), Number(latestExpiry()))),
  };
}

function sessionFromFlags(_id: string | undefined, { store, environment, client }: Flags): Session {
  if (_id === undefined)
    throw new WrongUsage('give a session id, or --token and the token on standard input');
  if (!SESSION_ID_PATTERN.test(_id)) throw new WrongUsage('a session id is 32 hexadecimal digits');
  if (store === undefined || environment === undefined || client === undefined) {
    throw new WrongUsage('a session id needs --store, --environment and --client');
  }
  return { _id, store_id: store, environment, client_id: client, expires_at: latestExpiry() };
}

/** When a token that is issued now, with the longest lifetime, expires. */
function latestExpiry(): Date {
  return new Date(Date.now() + MAX_LIFETIME_MS);
}

type Session = Omit<RevokedSession, 'revoked_at' | 'publish_pending'>;

const SESSION_ID_PATTERN = /^[0-9a-f]{32}$/;

/** The session of a token; `null` when it is not an access token of ours. */
function sessionOfToken(token: string): Session | null {
  try {
    if (decodeProtectedHeader(token).typ !== 'at+jwt') return null;
    const { jti: _id, exp, client_id, store_id, environment } = decodeJwt(token);
    if (typeof _id !== 'string' || !SESSION_ID_PATTERN.test(_id)) return null;
    if (typeof exp !== 'number' || typeof environment !== 'string') return null;
    if (typeof client_id !== 'string' || !CLIENT_ID_PATTERN.test(client_id)) return null;
    if (typeof store_id !== 'string' || !isId(store_id)) return null;
    return { _id, environment, store_id, client_id, expires_at: new Date(exp * 1_000) };
  } catch {
    // The cause would quote the token.
    return null;
  }
}
