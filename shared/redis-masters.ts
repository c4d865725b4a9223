/**
 * The Redis servers that hold the keys, one or the masters of a cluster; their identity, and the
 * check of their settings.
 */
import type { ChainableCommander, Redis } from 'ioredis';
import { StoreDataError, describeError, unavailable } from './errors.ts';
import { allEnded } from './waiting.ts';

export interface RedisRouter {
  /** `undefined` if no known master holds it. */
  find: (key: string) => RedisMaster | undefined;
}

export interface RedisMaster extends RedisRouter {
  redis: Redis;
  owns: (key: string) => boolean;
  /** Its slots in a cluster; empty without a cluster. */
  slots: string;
  /** The prefix of names that must lie on this master. */
  local: (prefix: string) => string;
}

export interface RedisMasters extends RedisRouter {
  /** The known masters; a new array whenever slots move. */
  all: () => readonly RedisMaster[];
  isWhole: () => boolean;
  /** Why a server refuses us, and which setting is wrong; `null` if none does. */
  refusal: () => string | null;
  onChange: (listener: () => void) => void;
  /** Resolves when all are ready, or some after the time; rejects if none is. */
  ready: (timeoutMs: number) => Promise<void>;
  disconnect: () => void;
}

export function onlyMaster(redis: Redis): RedisMaster {
  const master: RedisMaster = {
    redis,
    slots: '',
    local: (prefix) => prefix,
    owns: () => true,
    find: () => master,
  };
  return master;
}

export function nodeFor(holders: RedisRouter, key: string): Redis {
  const master = holders.find(key);
  if (master === undefined) throw slotUnassigned();
  return master.redis;
}

export function slotUnassigned(): StoreDataError {
  return unavailable('a master of the Redis cluster is away');
}

/** Commands in one pipeline: few enough that Redis answers long before they time out. */
export const PIPELINED = 500;

/**
 * Sends commands in pipelines to the servers of their keys. A failure does not stop the others.
 * @throws the first failure.
 */
export async function pipelined<T>(
  holders: RedisRouter,
  items: readonly T[],
  keyOf: (item: T) => string,
  add: (commands: ChainableCommander, item: T) => void,
): Promise<unknown[]> {
  const ofHolders = [...Map.groupBy(items, (item) => holders.find(keyOf(item)))];
  const answers = await allEnded(
    ofHolders.map(async ([master, own]) => {
      if (master === undefined) throw slotUnassigned();
      const answered: unknown[] = [];
      for (let start = 0; start < own.length; start += PIPELINED) {
        const commands = master.redis.pipeline();
        for (const item of own.slice(start, start + PIPELINED)) add(commands, item);
        answered.push(...(await execute(commands)));
      }
      return answered;
    }),
  );
  return answers.flat();
}

export async function execute(multi: ChainableCommander): Promise<unknown[]> {
  const results = await multi.exec();
  if (results === null) throw new Error('Connection is closed');
  return results.map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}

export type RedisServer = Awaited<ReturnType<typeof describeRedis>>;

/** Commands that empty a server or put other data into it. Redis counts commands while it runs. */
const COMMANDS_OF_IMPORTS = ['flushall', 'flushdb', 'restore', 'restore-asking', 'swapdb', 'debug'];

/**
 * @param slots its slots in a cluster: with other slots it counts as another server.
 * @throws {StoreDataError} `environment_unavailable` if the answer is not Redis's, or has no run_id.
 */
export async function describeRedis(redis: Redis, slots = '') {
  const [info, commands] = await Promise.all([redis.info(), redis.info('commandstats')]);
  const fields = readInfo(info);
  const runId = fields.get('run_id');
  if (!runId) {
    throw unavailable('Redis does not report its run_id in INFO');
  }
  return {
    /**
     * Changes with every restart and failover, and when the process is emptied or gets other data.
     */
    identity: [runId, fields.get('master_replid'), importsIn(readInfo(commands)), slots].join('/'),
    isPrimary: fields.get('role') === 'master',
    /** `null` if unknown. */
    evictionPolicy: fields.get('maxmemory_policy') ?? null,
  };
}

export function evictionProblem({ evictionPolicy }: RedisServer): string | null {
  if (evictionPolicy === null || evictionPolicy === 'noeviction') return null;
  return (
    `Redis evicts by "${evictionPolicy}" when its memory is full: sessions and quotas would be forgotten. ` +
    'Set maxmemory-policy to noeviction (redis.conf, "CONFIG SET maxmemory-policy noeviction", or the ' +
    'parameter group of a managed service), and give this installation a Redis of its own'
  );
}

/**
 * Checks that Redis evicts nothing. The service starts although Redis cannot be reached. @returns why it could not be checked.
 * @throws {StoreDataError} `server_unsuitable`, saying what to do.
 */
export async function checkRedisAtStart(
  masters: RedisMasters,
  waitMs: number,
): Promise<string | null> {
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
