/** Which Redis answers, and whether its settings fit: read from `INFO`, which managed services allow as well. */
import type { Redis } from 'ioredis';
import { describeError, StoreDataError } from './errors.ts';
import type { RedisMasters } from './redis-masters.ts';

export interface RedisServer {
  /** Of the process: another one after every restart and failover. */
  runId: string;
  /** Another one also when the same process took over another's data, was emptied or had a copy of its data put into it. */
  identity: string;
  isPrimary: boolean;
  /** Connected ones. */
  replicas: number;
  /** `null` where it does not say. */
  evictionPolicy: string | null;
}

/** What empties a server, or puts a copy of its data into it. Redis counts its commands for as long as it runs. */
const COMMANDS_OF_IMPORTS = ['flushall', 'flushdb', 'restore', 'restore-asking', 'swapdb', 'debug'];

/**
 * Asks the server of the connection.
 * @param slots those of a cluster that it holds: with others it counts as another server.
 * @throws {StoreDataError} `environment_unavailable` where what answers is no Redis, or does not tell which.
 */
export async function describeRedis(redis: Redis, slots = ''): Promise<RedisServer> {
  const [info, commands] = await Promise.all([redis.info(), redis.info('commandstats')]);
  const fields = readInfo(info);
  const runId = fields.get('run_id');
  if (runId === undefined || runId === '') {
    throw new StoreDataError('environment_unavailable', 'Redis does not tell its run_id in INFO');
  }
  return {
    runId,
    identity: [
      runId,
      fields.get('master_replid') ?? '',
      importsIn(readInfo(commands)),
      ...(slots === '' ? [] : [slots]),
    ].join('/'),
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
 * Checks at startup that Redis evicts nothing. The service starts although Redis cannot be reached.
 * @returns why it could not be checked, `null` where it is suitable.
 * @throws {StoreDataError} `server_unsuitable`, saying what to do.
 */
export async function checkRedisAtStart(masters: RedisMasters, waitMs: number): Promise<string | null> {
  let problems: (string | null)[];
  try {
    await masters.ready(waitMs);
    problems = await Promise.all(
      masters.all().map(async ({ redis }) => evictionProblem(await describeRedis(redis))),
    );
  } catch (error) {
    return masters.refusal() ?? describeError(error);
  }
  const problem = problems.find((one) => one !== null);
  if (problem !== undefined) throw new StoreDataError('server_unsuitable', problem);
  return null;
}

/** How often each command of imports was given: `flushall=1,restore=214`. */
function importsIn(commands: ReadonlyMap<string, string>): string {
  const counts = COMMANDS_OF_IMPORTS.flatMap((name) => {
    const calls = /^calls=(\d+)/.exec(commands.get(`cmdstat_${name}`) ?? '')?.[1];
    return calls === undefined ? [] : [`${name}=${calls}`];
  });
  return counts.join();
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
