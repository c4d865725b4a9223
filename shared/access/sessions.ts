/** Sessions: one for each issued token, live in Redis until it expires or is revoked. */
import { randomBytes } from 'node:crypto';
import type { Collection } from 'mongodb';
import { type OwnerOfKeys, pipelined, type RedisRouter } from '../redis-masters.ts';
import type { RevokedSession } from './access-keys.ts';
import { redisKeys } from './grants.ts';

/** A new session id: 128 random bits in hex. */
export function newSessionId(): string {
  return randomBytes(16).toString('hex');
}

export interface SessionOwner {
  id: string;
  environment: string;
  storeId: string;
  clientId: string;
}

/**
 * Notes in MongoDB that a session is revoked. From then on the revocation reaches Redis even if this process is killed.
 * @param expiresAt when the session's token expires at the latest.
 * @returns whether it was noted before.
 */
export async function noteRevocation(
  revoked: Collection<RevokedSession>,
  session: SessionOwner,
  expiresAt: Date,
): Promise<boolean> {
  const { matchedCount } = await revoked.updateOne(
    { _id: session.id },
    {
      $set: {
        environment: session.environment,
        store_id: session.storeId,
        client_id: session.clientId,
        revoked_at: new Date(),
        expires_at: expiresAt,
        publish_pending: true,
      },
    },
    { upsert: true },
  );
  return matchedCount > 0;
}

/** What of a revoked session says where it is in Redis. */
type RevokedSessionId = Pick<RevokedSession, '_id' | 'environment' | 'store_id' | 'client_id'>;

function sessionKey(prefix: string, { _id, environment, store_id }: RevokedSessionId): string {
  return redisKeys(prefix, environment, store_id).session(_id);
}

/** Ends sessions in Redis; their keys may have others in their place. @returns how many of them were live. */
async function endSessions(
  redis: RedisRouter,
  prefix: string,
  sessions: readonly RevokedSessionId[],
): Promise<number> {
  const sessionOf = (session: RevokedSessionId) => sessionKey(prefix, session);
  const tokensOf = ({ environment, store_id, client_id }: RevokedSessionId) =>
    redisKeys(prefix, environment, store_id).tokens(client_id);
  const removed = await pipelined(redis, sessions, sessionOf, (commands, session) =>
    commands.del(sessionOf(session)),
  );
  await pipelined(redis, sessions, tokensOf, (commands, session) =>
    commands.zrem(tokensOf(session), session._id),
  );
  return removed.filter((count) => count === 1).length;
}

/** Ends revoked sessions that one server has or had. */
export function endOwnSessions(
  master: OwnerOfKeys,
  prefix: string,
  sessions: readonly RevokedSessionId[],
): Promise<number> {
  const own = sessions.filter((session) => master.owns(sessionKey(prefix, session)));
  return endSessions(master, prefix, own);
}

/** Ends a session in Redis after its revocation was noted, for every instance. @returns whether it was live. */
export async function endRevokedSession(
  redis: RedisRouter,
  revoked: Collection<RevokedSession>,
  prefix: string,
  session: RevokedSessionId,
): Promise<boolean> {
  const ended = await endSessions(redis, prefix, [session]);
  await revoked.updateOne({ _id: session._id }, { $unset: { publish_pending: '' } });
  return ended === 1;
}
