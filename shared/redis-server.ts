/** Which Redis answers, and whether its settings fit: read from `INFO`, which managed services allow as well. */
import type { Redis } from 'ioredis';
import { describeError, StoreDataError } from './errors.ts';
import { redisReady } from './redis.ts';

export interface RedisServer {
  /** Of the process: another one after every restart and failover. */
  runId: string;
  /** Another one also when the same process took over another's data. */
  identity: string;
  isPrimary: boolean;
  /** Connected ones. */
  replicas: number;
  /** `null` where it does not say. */
  evictionPolicy: string | null;
}

/**
 * Asks the server of the connection.
 * @throws {StoreDataError} `environment_unavailable` where what answers is no Redis, or does not tell which.
 */
export async function describeRedis(redis: Redis): Promise<RedisServer> {
  const fields = readInfo(await redis.info());
  const runId = fields.get('run_id');
  if (runId === undefined || runId === '') {
    throw new StoreDataError('environment_unavailable', 'Redis does not tell its run_id in INFO');
  }
  return {
    runId,
    identity: `${runId}/${fields.get('master_replid') ?? ''}`,
    isPrimary: fields.get('role') === 'master',
    replicas: Number(fields.get('connected_slaves') ?? 0),
    evictionPolicy: fields.get('maxmemory_policy') ?? null,
  };
}

/** Why a server's eviction policy is unsuitable, and what to do; `null` where it is not. */
export function evictionProblem({ evictionPolicy }: RedisServer): string | null {
  if (evictionPolicy === null || evictionPolicy === 'noeviction') return null;
  return (
    `Redis evicts by "${evictionPolicy}" when its memory is full: sessions and quotas would be forgotten. ` +
    'Set maxmemory-policy to noeviction (redis.conf, "CONFIG SET maxmemory-policy noeviction", or the ' +
    'parameter group of a managed service), and give this installation a Redis of its own'
  );
}

/**
 * Checks at a start that Redis forgets nothing. One that is away is no reason not to start.
 * @returns why it could not be checked, `null` where it is suitable.
 * @throws {StoreDataError} `server_unsuitable`, saying what to do.
 */
export async function checkRedisAtStart(redis: Redis, waitMs: number): Promise<string | null> {
  let server: RedisServer;
  try {
    await redisReady(redis, waitMs);
    server = await describeRedis(redis);
  } catch (error) {
    return describeError(error);
  }
  const problem = evictionProblem(server);
  if (problem !== null) throw new StoreDataError('server_unsuitable', problem);
  return null;
}

function readInfo(info: unknown): Map<string, string> {
  const lines = typeof info === 'string' ? info.split('\r\n') : [];
  return new Map(
    lines.flatMap((line) => {
      const at = line.indexOf(':');
      return at < 1 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
    }),
  );
}
