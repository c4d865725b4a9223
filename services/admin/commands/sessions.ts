/** `sessions list`: the sessions of a store that are live, which Redis alone knows; `sessions revoke` ends one before its time. */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Collection } from 'mongodb';
import { text as readText } from 'node:stream/consumers';
import type { RevokedSession } from '#shared/access/access-keys.ts';
import { redisKeys, endRevokedSession, noteRevocation, type RevokedSessionId } from '#shared/access/grants.ts';
import { commandInvalid, unavailable } from '#shared/errors.ts';
import { CLIENT_ID_PATTERN } from '#shared/events/access-event.ts';
import { isId } from '#shared/events/fields.ts';
import { nodeFor } from '#shared/redis-masters.ts';
import { withTimeLimit } from '#shared/waiting.ts';
import { UNTIL_REDIS_IS_BACK } from '../access/change.ts';
import { audited, messageOf } from '../audit.ts';
import { inEnvironment, type Servers, withServers } from '../servers.ts';
import { scanPrefix } from '../erase/holdings.ts';
import {
  chooseEnvironment,
  clientId as readClientId,
  command,
  environmentOption,
  limitOption,
  oneEnvironmentOption,
  storeOption,
  WrongUsage,
} from '../options.ts';
import { markFailed, printFacts, printFirst, remark } from '../output/print.ts';
import { formatDuration } from '../output/terminal.ts';

export const listCommand = () =>
  command('list', 'List the sessions of a store whose tokens are valid')
    .addOption(storeOption('the store').makeOptionMandatory())
    .addOption(oneEnvironmentOption())
    .option('-c, --client <id>', 'only those of a key', readClientId)
    .addOption(limitOption(100))
    .action((flags) =>
      inEnvironment(flags, async (servers, environment) => {
        const { limit, client } = flags;
        const own = redisKeys(servers.config.namePrefix, environment, flags.store).session('');
        // All sessions of a store lie together.
        const redis = nodeFor(await servers.redis(), own);
        const found: { session_id: string; client_id: string; seconds_left: number }[] = [];
        for await (const names of scanPrefix(redis, own)) {
          for (const name of names) {
            const [client_id, seconds_left] = await Promise.all([redis.get(name), redis.ttl(name)]);
            if (client_id === null || seconds_left < 0 || client_id !== (client ?? client_id)) continue;
            found.push({ session_id: name.slice(own.length), client_id, seconds_left });
            if (found.length > limit) break;
          }
          if (found.length > limit) break;
        }
        printFirst(
          flags.limit,
          found,
          (first) => first.toSorted((a, b) => b.seconds_left - a.seconds_left),
          [
            ['SESSION', 'session_id'],
            ['CLIENT_ID', 'client_id'],
            ['ENDS IN', ({ seconds_left }) => formatDuration(seconds_left * 1_000), 'right'],
          ],
          'no sessions',
        );
      }),
    );

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
      await withServers(async (servers) => {
        servers.demandAll();
        chooseEnvironment(servers.config, session.environment);
        if (session.expiresAt.getTime() <= Date.now()) {
          remark('note: the token has expired already');
        }
        const { revokedSessions } = await servers.access();
        const { id: session_id, environment, storeId: store_id, clientId: client_id } = session;
        const about = { environment, store_id, client_id, session_id };
        const work = { action: 'sessions.revoke', ...about, details: {} } as const;
        const revoked = { _id: session_id, environment, store_id, client_id };
        const { before, live } = await audited(servers, work, async () => {
          const wasLive = await isLiveNow(servers, session);
          const noted = await noteRevocation(revokedSessions, revoked, session.expiresAt);
          const ended = (await endNow(servers, revokedSessions, revoked)) || wasLive;
          const details = { was_live: ended, revoked_before: noted };
          return { result: { before: noted, live: ended }, details };
        });
        if (live === false && !before && session.expiresAt.getTime() > Date.now()) {
          markFailed();
          remark(
            `store-data: the revocation is noted, but no such session was live for store ${store_id} in ${environment}: it has expired, or these are not its store and environment`,
          );
        }
        const facts = { store: store_id, environment, client_id };
        const json = { session_id, ...facts, was_live: live, revoked_before: before };
        const status = before && !live ? 'was revoked before' : live === false ? 'was not live' : 'revoked';
        printFacts(json, [['session', session_id], ...Object.entries(facts), ['status', status]]);
      });
    });

interface Flags {
  store?: string | undefined;
  environment?: string | undefined;
  client?: string | undefined;
}

/**
 * Whether the session is live, to be asked before its revocation is noted: from then on a service may end it before this
 * command does. `null` where Redis does not say so quickly, for which no revocation waits.
 */
async function isLiveNow(servers: Servers, { id, environment, storeId }: SessionOfToken): Promise<boolean | null> {
  const key = redisKeys(servers.config.namePrefix, environment, storeId).session(id);
  const ask = async () => (await nodeFor(await servers.redis(), key).exists(key)) === 1;
  return withTimeLimit(IS_LIVE_MS, () => new Error('Redis is slow'), ask).catch(() => null);
}

/** @returns whether the session was live. @throws {StoreDataError} `environment_unavailable`, saying what is in effect all the same. */
async function endNow(
  servers: Servers,
  revokedSessions: Collection<RevokedSession>,
  session: RevokedSessionId,
): Promise<boolean> {
  try {
    const redis = await servers.redis();
    return await endRevokedSession(redis, revokedSessions, servers.config.namePrefix, session);
  } catch (error) {
    throw unavailable(
      `the revocation of session ${session._id} is in MongoDB and stays, but: ${messageOf(error)}; ${UNTIL_REDIS_IS_BACK}`,
      error,
    );
  }
}

async function sessionFromInput(id: string | undefined, flags: Flags): Promise<SessionOfToken> {
  const given = [id, flags.store, flags.environment, flags.client];
  if (given.some((one) => one !== undefined)) {
    throw new WrongUsage('--token tells everything: give no session id, --store, --environment or --client');
  }
  if (process.stdin.isTTY) remark('paste the token and end with Enter and Ctrl-D');
  const session = sessionOfToken((await readText(process.stdin)).trim());
  if (session === null) throw commandInvalid('standard input is no access token of ours');
  return { ...session, expiresAt: new Date(Math.min(Number(session.expiresAt), Number(latestExpiry()))) };
}

function sessionFromFlags(id: string | undefined, { store, environment, client }: Flags): SessionOfToken {
  if (id === undefined) throw new WrongUsage('give a session id, or --token and the token on standard input');
  if (!SESSION_ID_PATTERN.test(id)) throw new WrongUsage('a session id is 32 hexadecimal digits');
  if (store === undefined || environment === undefined || client === undefined) {
    throw new WrongUsage('a session id needs --store, --environment and --client');
  }
  return { id, storeId: store, environment, clientId: client, expiresAt: latestExpiry() };
}

/** A token issued this instant, with the longest lifetime, would expire then. */
function latestExpiry(): Date {
  return new Date(Date.now() + MAX_LIFETIME_MS);
}

export interface SessionOfToken {
  id: string;
  environment: string;
  storeId: string;
  clientId: string;
  expiresAt: Date;
}

export const SESSION_ID_PATTERN = /^[0-9a-f]{32}$/;

/** The session of a token; `null` when it is no access token of ours. */
export function sessionOfToken(token: string): SessionOfToken | null {
  try {
    if (decodeProtectedHeader(token).typ !== 'at+jwt') return null;
    const { jti, exp, client_id: clientId, store_id: storeId, environment } = decodeJwt(token);
    if (typeof jti !== 'string' || !SESSION_ID_PATTERN.test(jti)) return null;
    if (typeof exp !== 'number' || typeof environment !== 'string') return null;
    if (typeof clientId !== 'string' || !CLIENT_ID_PATTERN.test(clientId)) return null;
    if (typeof storeId !== 'string' || !isId(storeId)) return null;
    return { id: jti, environment, storeId, clientId, expiresAt: new Date(exp * 1_000) };
  } catch {
    // The cause would quote the token.
    return null;
  }
}
