/** Scripts that Redis runs, which nothing comes between: known there by the hash of their text. */
import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';

export interface RedisScript {
  text: string;
  name: string;
}

export function redisScript(text: string): RedisScript {
  return { text, name: hash('sha1', text) };
}

/** Runs a script. @throws when Redis is away. */
export async function runScript(
  redis: Redis,
  { text, name }: RedisScript,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown[]> {
  try {
    return (await redis.evalsha(name, keys.length, ...keys, ...args)) as unknown[];
  } catch (error) {
    // A Redis that was just started does not know it yet.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return (await redis.eval(text, keys.length, ...keys, ...args)) as unknown[];
  }
}
