/** Waits for the looks of Redis gates: each leaves a number in Redis (decision 0045). */
import type { Redis } from 'ioredis';
import { heartbeatKey } from '#shared/access/grants.ts';
import { eventually } from '#test/installation.ts';

/** The newest number of each instance, by its trail. */
async function newestNumbers(redis: Redis, prefix: string): Promise<Map<string, number>> {
  const trails = await redis.keys(heartbeatKey(prefix, '*'));
  const numbers = await Promise.all(trails.map((trail) => redis.get(trail)));
  return new Map(trails.map((trail, index) => [trail, Number(numbers[index])]));
}

/** Waits until so many instances have begun and ended a look: whatever was before counts for them as seen. */
export async function haveLooked(redis: Redis, prefix: string, instances = 2): Promise<void> {
  // The first may have been under way.
  for (let look = 0; look < 2; look += 1) {
    const before = await newestNumbers(redis, prefix);
    await eventually('the gates have looked', async () => {
      const now = await newestNumbers(redis, prefix);
      return [...now].filter(([trail, number]) => number > (before.get(trail) ?? 0)).length >= instances;
    });
  }
}
