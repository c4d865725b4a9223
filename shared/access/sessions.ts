/** Sessions: one for each issued token, live in Redis until it expires or is revoked. */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Collection } from 'mongodb';
import type { RevokedSession } from './access-keys.ts';
import { redisKeys } from './redis-keys.ts';

/** A new session id: 128 random bits in hex. */
export function newSessionId(): string {
  return randomBytes(16).toString('hex');
}

/**
 * Revokes a session: in MongoDB first, which outlives Redis, then in Redis, from where the next request of
 * every instance sees it.
 * @param expiresAt when the session's token expires at the latest.
 * @returns whether the session was live in Redis.
 */
export async function revokeSession(
  redis: Redis,
  revoked: Collection<RevokedSession>,
  prefix: string,
  session: { id: string; environment: string; storeId: string; clientId: string },
  expiresAt: Date,
): Promise<boolean> {
  await revoked.updateOne(
    { _id: session.id },
    {
      $set: {
        environment: session.environment,
        store_id: session.storeId,
        client_id: session.clientId,
        revoked_at: new Date(),
        expires_at: expiresAt,
      },
    },
    { upsert: true },
  );
  const removed = await redis.del(
    redisKeys(prefix, session.environment, session.storeId).session(session.id),
  );
  return removed === 1;
}
