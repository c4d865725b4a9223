/** Whether the servers behind the service answer. */
import type { Redis } from 'ioredis';
import type { MongoClient } from 'mongodb';
import type { RedisGate } from './access/redis-gate.ts';
import type { Bounded } from './deadline.ts';

interface Servers {
  mongodb: MongoClient;
  redis: Redis;
  redisGate: RedisGate;
  bounded: Bounded;
}

/** Makes the check. Those who ask while one is running share its answer, so that asking often costs nothing. */
export function healthCheck({ mongodb, redis, redisGate, bounded }: Servers): () => Promise<boolean> {
  let running: Promise<boolean> | null = null;
  const check = async () => {
    const answers = await Promise.allSettled([
      bounded((signal) => mongodb.db('admin').command({ ping: 1 }, { signal })),
      redis.ping(),
    ]);
    running = null;
    return redisGate.isOpen && answers.every(({ status }) => status === 'fulfilled');
  };
  return () => (running ??= check());
}
