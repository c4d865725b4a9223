/** How many replicas of Redis have what a command has just written there. */
import type { Redis } from 'ioredis';
import { describeRedis } from '#shared/redis-server.ts';
import { remark } from '../output/print.ts';

/** Below the time that a command of the client may take. */
const WAIT_MS = 100;

/**
 * Waits for the replicas, where there are any, and tells how many have it. To be called on the connection that wrote.
 * It is only information: one that takes over without it is reconciled with MongoDB before it is used.
 */
export async function tellReplicas(redis: Redis): Promise<void> {
  try {
    const { replicas } = await describeRedis(redis);
    if (replicas === 0) return;
    const confirmed = await redis.wait(replicas, WAIT_MS);
    remark(`note: ${confirmed} of ${replicas} replicas of Redis have it`);
  } catch {
    // A server that does not tell, or is gone again: the write itself was confirmed.
  }
}
