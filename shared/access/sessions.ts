/** Sessions: one for each issued token, live in Redis until it expires or is revoked. */
import { randomBytes } from 'node:crypto';
import type { Collection } from 'mongodb';
import type { OwnerOfKeys, RedisHolders } from '../redis-masters.ts';
import { pipelined } from '../redis-pipeline.ts';
import type { RevokedSession } from './access-keys.ts';
import { redisKeys } from './redis-keys.ts';

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
 * Notes in MongoDB, which outlives Redis, that a session is revoked. From then on the revocation gets to Redis,
 * whichever process is killed.
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
type RevokedSessionId = Pick<RevokedSession, '_id' | 'environment' | 'store_id'>;

function revokedSessionKey(prefix: string, session: RevokedSessionId): string {
  return redisKeys(prefix, session.environment, session.store_id).session(session._id);
}

/** Ends revoked sessions in Redis. @returns how many of them were live. */
export async function endSessions(
  redis: RedisHolders,
  prefix: string,
  sessions: readonly RevokedSessionId[],
): Promise<number> {
  const removed = await pipelined(
    redis,
    sessions.map((session) => revokedSessionKey(prefix, session)),
    (key) => key,
    (commands, key) => commands.del(key),
  );
  return removed.filter((count) => count === 1).length;
}

/** The same of those that one server has or had. */
export async function endOwnSessions(
  master: OwnerOfKeys,
  prefix: string,
  sessions: readonly RevokedSessionId[],
): Promise<number> {
  const own = sessions.filter((session) => master.owns(revokedSessionKey(prefix, session)));
  return endSessions(master, prefix, own);
}

/** Ends a session in Redis after its revocation was noted, for every instance. @returns whether it was live. */
export async function endRevokedSession(
  redis: RedisHolders,
  revoked: Collection<RevokedSession>,
  prefix: string,
  session: RevokedSessionId,
): Promise<boolean> {
  const ended = await endSessions(redis, prefix, [session]);
  await revoked.updateOne({ _id: session._id }, { $unset: { publish_pending: '' } });
  return ended === 1;
}
