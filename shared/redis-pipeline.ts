/** Redis commands that are sent together: in pipelines of those who hold their keys, every error of which is thrown. */
import type { ChainableCommander } from 'ioredis';
import { allEnded } from './all-ended.ts';
import { nobodyHolds, type RedisHolders } from './redis-masters.ts';

/** How many are sent together: few enough that Redis answers them long before they time out. */
export const PIPELINED = 500;

/**
 * Does something about each of many things, in pipelines of those who hold their keys. What one of them cannot do does not keep the others
 * from doing theirs. @throws where any failed.
 */
export async function pipelined<T>(
  holders: RedisHolders,
  items: readonly T[],
  keyOf: (item: T) => string,
  add: (commands: ChainableCommander, item: T) => void,
): Promise<unknown[]> {
  const ofHolders = [...Map.groupBy(items, (item) => holders.find(keyOf(item)))];
  const answers = await allEnded(
    ofHolders.map(async ([redis, own]) => {
      if (redis === undefined) throw nobodyHolds();
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
