/** Sessions: one for each issued token, live in Redis until it expires or is revoked. */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Collection } from 'mongodb';
import type { RevokedSession } from './access-keys.ts';
import { execute, PIPELINED } from './grants.ts';
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
  redis: Redis,
  prefix: string,
  sessions: readonly RevokedSessionId[],
): Promise<number> {
  let ended = 0;
  for (let start = 0; start < sessions.length; start += PIPELINED) {
    const commands = redis.pipeline();
    for (const session of sessions.slice(start, start + PIPELINED)) {
      commands.del(revokedSessionKey(prefix, session));
    }
    for (const removed of await execute(commands)) if (removed === 1) ended += 1;
  }
  return ended;
}

/** Ends a session in Redis after its revocation was noted, for every instance. @returns whether it was live. */
export async function endRevokedSession(
  redis: Redis,
  revoked: Collection<RevokedSession>,
  prefix: string,
  session: RevokedSessionId,
): Promise<boolean> {
  const ended = await endSessions(redis, prefix, [session]);
  await revoked.updateOne({ _id: session._id }, { $unset: { publish_pending: '' } });
  return ended === 1;
}
