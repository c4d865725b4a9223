/** Waiting until a change of access is live: applied in MongoDB, and known to Redis from where requests see it. */
import type { Db } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { holderOf, type RedisHolders } from '#shared/redis-masters.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import type { Subject } from './subject.ts';

const POLL_MS = 40;

/** How the waiting ended; `record` is what MongoDB holds then. */
export type Liveness<R> =
  | { outcome: 'live'; record: R }
  | { outcome: 'not_in_redis' | 'not_applied' }
  | { outcome: 'dead_letter'; letter: Pick<DeadLetter, '_id' | 'reason' | 'detail'> };

export interface LiveWait {
  control: Db;
  redis: RedisHolders;
  sequence: number;
  /** Where the event's dead letter would be. */
  letterId: string | null;
  timeoutMs: number;
}

/** Waits for a key or a store. */
export async function untilLive<S, R extends { version: number; publish_pending?: true }>(
  { read, appliedOf, redisKey }: Subject<S, R>,
  { control, redis, sequence, letterId, timeoutMs }: LiveWait,
): Promise<Liveness<R>> {
  const letters = control.collection<DeadLetter>(DEAD_LETTERS);
  const end = Date.now() + timeoutMs;
  for (;;) {
    const record = await read();
    const applied = record !== null && appliedOf(record).sequence >= sequence ? record : null;
    if (applied !== null && applied.publish_pending === undefined) {
      // One that is missing there is loaded from MongoDB by the request that needs it.
      const key = redisKey(applied);
      const [, version] = await holderOf(redis, key).zrange(key, '-1', '-1', 'WITHSCORES');
      if (version === undefined || Number(version) >= applied.version) {
        return { outcome: 'live', record: applied };
      }
    }
    if (applied === null && letterId !== null) {
      const letter = await letters.findOne({ _id: letterId }, { projection: { reason: 1, detail: 1 } });
      if (letter !== null) return { outcome: 'dead_letter', letter };
    }
    if (Date.now() >= end) return { outcome: applied === null ? 'not_applied' : 'not_in_redis' };
    await sleep(POLL_MS);
  }
}
