/** The servers of Redis that hold the keys: one, or the masters of a cluster. */
import type { Redis } from 'ioredis';
import { StoreDataError } from './errors.ts';

/** Knows who holds which key. */
export interface RedisHolders {
  /** `undefined` where nobody is known to hold it. */
  find: (key: string) => Redis | undefined;
}

/** One server, and which keys are its own. */
export interface OwnerOfKeys extends RedisHolders {
  redis: Redis;
  owns: (key: string) => boolean;
}

export interface RedisMaster extends OwnerOfKeys {
  /** The slots of a cluster that it holds; empty where there is no cluster. */
  slots: string;
  /** What takes the place of a prefix in names that are to lie on this master. */
  local: (prefix: string) => string;
}

export interface RedisMasters extends RedisHolders {
  /** Those that are known; another object for each time that one holds other slots. */
  all: () => readonly RedisMaster[];
  findMaster: (key: string) => RedisMaster | undefined;
  /** Whether each key has a master. */
  isWhole: () => boolean;
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

/** The server that holds a key. @throws {StoreDataError} `environment_unavailable` where nobody does. */
export function holderOf(holders: RedisHolders, key: string): Redis {
  const holder = holders.find(key);
  if (holder === undefined) throw nobodyHolds();
  return holder;
}

export function nobodyHolds(): StoreDataError {
  return new StoreDataError('environment_unavailable', 'a master of the Redis cluster is away');
}
