/** Whether the servers behind the service answer. */
import type { Redis } from 'ioredis';
import type { MongoClient } from 'mongodb';

/** Makes the check. Those who ask while one is running share its answer, so that asking often costs nothing. */
export function healthCheck(mongodb: MongoClient, redis: Redis): () => Promise<boolean> {
  let running: Promise<boolean> | null = null;
  const check = async () => {
    const answers = await Promise.allSettled([mongodb.db('admin').command({ ping: 1 }), redis.ping()]);
    running = null;
    return answers.every(({ status }) => status === 'fulfilled');
  };
  return () => (running ??= check());
}
