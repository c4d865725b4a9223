/** The servers that all tests share: their addresses, clients and leftovers. */
import { Cluster, Redis } from 'ioredis';
import { type Db, MongoServerError } from 'mongodb';
import { readRedisAddress } from '#shared/address.ts';
import { eventually } from './eventually.ts';

/**
 * Drops a database. Waits for a pending drop of a killed process, during which MongoDB refuses
 * another.
 */
export async function dropDatabase(db: Db): Promise<void> {
  await eventually(`${db.databaseName} is dropped`, async () => {
    try {
      return await db.dropDatabase();
    } catch (error) {
      if (error instanceof MongoServerError && error.codeName === 'DatabaseDropPending')
        return false;
      throw error;
    }
  });
}

export function isCluster(url: string): boolean {
  return readRedisAddress(url)?.kind === 'cluster';
}

/** A client of a single server or a cluster; for sentinels a lazy client of the first address. */
export function clientOf(url: string): Redis {
  const address = readRedisAddress(url);
  if (address === null) throw new Error(`no address of Redis: ${url}`);
  // Commands on one key are the same for both.
  if (isCluster(url)) return new Cluster([...address.nodes], { lazyConnect: true }) as never;
  return new Redis(address.urlOf(address.nodes[0]), { lazyConnect: address.kind !== 'server' });
}

export function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests with npm test`);
  return value;
}
