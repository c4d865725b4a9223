/**
 * The trail of one instance in Redis: a number with each look, one higher than the last. A Redis that does not show the last
 * one that was there has gone back to what it held before, whichever way that came about.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { execute } from '#shared/access/grants.ts';
import { trailKey } from '#shared/access/redis-keys.ts';

/** More than one, since an answer may get lost: then it is not known which number was the last. */
const NUMBERS_KEPT = 100;
/** How long Redis keeps the trail of an instance that is gone. One that could not look for so long has no trail. */
const KEPT_MS = 600_000;

export class RedisTrail {
  readonly #redis: Redis;
  readonly #key: string;
  #last = 0;
  /** The last number of which Redis confirmed that it is there. */
  #confirmed: string | null = null;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#key = trailKey(prefix, randomUUID());
  }

  /** Leaves the next number. @returns whether the last one is still there; false where there was none yet. */
  async step(): Promise<boolean> {
    this.#last += 1;
    const number = String(this.#last);
    const answers = await execute(
      this.#redis
        .pipeline()
        .lpush(this.#key, number)
        .lrange(this.#key, 0, -1)
        .ltrim(this.#key, 0, NUMBERS_KEPT - 1)
        .pexpire(this.#key, KEPT_MS),
    );
    const numbers = answers[1];
    const holds = Array.isArray(numbers) && this.#confirmed !== null && numbers.includes(this.#confirmed);
    this.#confirmed = number;
    return holds;
  }
}
