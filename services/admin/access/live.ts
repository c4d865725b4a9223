/** Waiting until a change of access is live: applied in MongoDB, and known to Redis from where requests see it. */
import type { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AccessKey,
  controlCollections,
  type StoreAccess,
  storeAccessId,
} from '#shared/access/access-keys.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';

const POLL_MS = 40;

/** How the waiting ended; `record` is what MongoDB holds then. */
export type Liveness<R> =
  | { outcome: 'live'; record: R }
  | { outcome: 'not_in_redis'; record: R }
  | { outcome: 'not_applied' }
  | { outcome: 'dead_letter'; letter: Pick<DeadLetter, '_id' | 'reason' | 'detail'> };

export interface LiveWait {
  control: Db;
  redis: Redis;
  prefix: string;
  sequence: number;
  /** Where the event's dead letter would be. */
  letterId: string | null;
  timeoutMs: number;
}

/** Waits for a key. */
export function keyIsLive(wait: LiveWait, clientId: string): Promise<Liveness<AccessKey>> {
  const { keys } = controlCollections(wait.control);
  return isLive(wait, {
    read: () => keys.findOne({ _id: clientId }),
    sequenceOf: (key) => key.sequence,
    redisKey: (key) => redisKeys(wait.prefix, key.environment, key.store_id).grant(clientId),
  });
}

/** Waits for what `store_access` says of a store. */
export function storeIsLive(
  wait: LiveWait,
  environment: string,
  storeId: string,
): Promise<Liveness<StoreAccess>> {
  const { stores } = controlCollections(wait.control);
  return isLive(wait, {
    read: () => stores.findOne({ _id: storeAccessId(environment, storeId) }),
    sequenceOf: (store) => store.access_sequence,
    redisKey: () => redisKeys(wait.prefix, environment, storeId).storeAccess,
  });
}

interface Watched<R> {
  read: () => Promise<R | null>;
  sequenceOf: (record: R) => number;
  redisKey: (record: R) => string;
}

async function isLive<R extends { version: number; publish_pending?: true }>(
  { control, redis, sequence, letterId, timeoutMs }: LiveWait,
  { read, sequenceOf, redisKey }: Watched<R>,
): Promise<Liveness<R>> {
  const letters = control.collection<DeadLetter>(DEAD_LETTERS);
  const end = Date.now() + timeoutMs;
  for (;;) {
    const record = await read();
    const applied = record !== null && sequenceOf(record) >= sequence ? record : null;
    if (applied !== null && applied.publish_pending === undefined) {
      // One that is missing there is loaded from MongoDB by the request that needs it.
      const [, version] = await redis.zrange(redisKey(applied), '-1', '-1', 'WITHSCORES');
      if (version === undefined || Number(version) >= applied.version) {
        return { outcome: 'live', record: applied };
      }
    }
    if (applied === null && letterId !== null) {
      const letter = await letters.findOne({ _id: letterId }, { projection: { reason: 1, detail: 1 } });
      if (letter !== null) return { outcome: 'dead_letter', letter };
    }
    if (Date.now() >= end) {
      return applied === null ? { outcome: 'not_applied' } : { outcome: 'not_in_redis', record: applied };
    }
    await sleep(POLL_MS);
  }
}
