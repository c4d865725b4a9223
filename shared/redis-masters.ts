/** The servers of Redis that hold the keys: one, or the masters of a cluster. */
import type { ChainableCommander, Redis } from 'ioredis';
import { StoreDataError } from './errors.ts';
import { allEnded } from './all-ended.ts';

/** Knows who holds which key. */
export interface RedisRouter {
  /** `undefined` where no master is known to hold it. */
  find: (key: string) => Redis | undefined;
}

/** One server, and which keys are its own. */
export interface OwnerOfKeys extends RedisRouter {
  redis: Redis;
  owns: (key: string) => boolean;
}

export interface RedisMaster extends OwnerOfKeys {
  /** The slots of a cluster that it holds; empty where there is no cluster. */
  slots: string;
  /** What takes the place of a prefix in names that are to lie on this master. */
  local: (prefix: string) => string;
}

export interface RedisMasters extends RedisRouter {
  /** Those that are known; another object for each time that one holds other slots. */
  all: () => readonly RedisMaster[];
  findMaster: (key: string) => RedisMaster | undefined;
  /** Whether each key has a master. */
  isWhole: () => boolean;
  /** Why a server refuses us, so that a setting is wrong, and which; `null` where none does. */
  refusal: () => string | null;
  /** Called whenever there are other masters. */
  onChange: (listener: () => void) => void;
  /** Resolves when all are ready, or when the time is over and some are; rejects where none is. */
  ready: (timeoutMs: number) => Promise<void>;
  disconnect: () => void;
}

/** A server that holds all keys. */
export function onlyMaster(redis: Redis): RedisMaster {
  return { redis, slots: '', local: (prefix) => prefix, owns: () => true, find: () => redis };
}

/** The server that holds a key. @throws {StoreDataError} `environment_unavailable` where none does. */
export function nodeFor(holders: RedisRouter, key: string): Redis {
  const holder = holders.find(key);
  if (holder === undefined) throw slotUnassigned();
  return holder;
}

export function slotUnassigned(): StoreDataError {
  return new StoreDataError('environment_unavailable', 'a master of the Redis cluster is away');
}

/** Commands in one pipeline: few enough that Redis answers long before they time out. */
export const PIPELINED = 500;

/**
 * Sends a command for each item, in pipelines to the servers that hold their keys. A server that fails does not stop the others.
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
    ofHolders.map(async ([redis, own]) => {
      if (redis === undefined) throw slotUnassigned();
      const answered: unknown[] = [];
      for (let start = 0; start < own.length; start += PIPELINED) {
        const commands = redis.pipeline();
        for (const item of own.slice(start, start + PIPELINED)) add(commands, item);
        answered.push(...(await execute(commands)));
      }
      return answered;
    }),
  );
  return answers.flat();
}

/** Runs a MULTI or a pipeline; an error of any of its commands is thrown. */
export async function execute(multi: ChainableCommander): Promise<unknown[]> {
  const results = await multi.exec();
  if (results === null) throw new Error('Connection is closed');
  return results.map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}
