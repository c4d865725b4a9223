/** Copies all keys of a Redis, and restores them into a running one. */
import type { Redis } from 'ioredis';
import { execute } from '#shared/redis-masters.ts';

interface CopiedKey {
  key: string;
  /** The time to live in milliseconds; 0 for none. */
  ttl: number;
  /** The value for `RESTORE`. */
  dump: Buffer;
  /** A string, or the members of a sorted set with their scores. */
  content: string | string[];
}

export type RedisCopy = readonly CopiedKey[];

export async function copyRedis(redis: Redis): Promise<RedisCopy> {
  const keys = await redis.keys('*');
  const copied = await Promise.all(
    keys.map(async (key) => {
      const [dump, ttl, content] = await Promise.all([
        redis.dumpBuffer(key),
        redis.pttl(key),
        readContent(redis, key),
      ]);
      // The key has just expired.
      return dump === null || content === null
        ? null
        : { key, ttl: Math.max(0, ttl), dump, content };
    }),
  );
  return copied.filter((one) => one !== null);
}

/** Restores a copy like backup tools: `FLUSHALL` and `RESTORE`. */
export async function restoreCopy(redis: Redis, copy: RedisCopy): Promise<void> {
  const commands = redis.pipeline().flushall();
  for (const { key, ttl, dump } of copy) commands.restore(key, ttl, dump);
  await execute(commands);
}

/** Restores a copy with ordinary commands. */
export async function rewriteCopy(redis: Redis, copy: RedisCopy): Promise<void> {
  const present = await redis.keys('*');
  const commands = redis.multi();
  if (present.length > 0) commands.del(...present);
  for (const { key, ttl, content } of copy) {
    if (typeof content === 'string') commands.set(key, content);
    else commands.zadd(key, ...content);
    if (ttl > 0) commands.pexpire(key, ttl);
  }
  await execute(commands);
}

async function readContent(redis: Redis, key: string): Promise<string | string[] | null> {
  const type = await redis.type(key);
  if (type === 'string') return redis.get(key);
  if (type === 'zset') {
    const flat = await redis.zrange(key, '0', '-1', 'WITHSCORES');
    return flat.map((_, index) => flat[index ^ 1] ?? '');
  }
  if (type === 'none') return null;
  throw new Error(`a key of type ${type} is not expected`);
}
