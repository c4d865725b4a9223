/** What was decided in MongoDB and Redis is not known to have yet. */
import type { Redis } from 'ioredis';
import type { AccessKey, ControlCollections, RevokedSession, StoreAccess } from './access-keys.ts';
import { publishAll, publishedBlocking, publishedKey } from './grants.ts';
import { endSessions } from './sessions.ts';

export interface PendingAccess {
  keys: AccessKey[];
  stores: StoreAccess[];
  sessions: RevokedSession[];
}

/** Finds what is marked, by indexes that are empty almost always. */
export async function findPending(
  { keys, stores, revokedSessions }: ControlCollections,
  environments: readonly string[],
  signal?: AbortSignal,
): Promise<PendingAccess> {
  const marked = { publish_pending: true, environment: { $in: [...environments] } } as const;
  const options = signal === undefined ? {} : { signal };
  const [foundKeys, foundStores, sessions] = await Promise.all([
    keys.find(marked, options).toArray(),
    stores.find(marked, options).toArray(),
    revokedSessions.find(marked, options).toArray(),
  ]);
  return { keys: foundKeys, stores: foundStores, sessions };
}

/** Brings it to Redis without removing the marks: that is for those who write to MongoDB. */
export async function publishPending(
  redis: Redis,
  prefix: string,
  { keys, stores, sessions }: PendingAccess,
): Promise<void> {
  await publishAll(redis, [
    ...keys.flatMap((key) => publishedKey(prefix, key)),
    ...stores.map((store) => publishedBlocking(prefix, store)),
  ]);
  await endSessions(redis, prefix, sessions);
}
