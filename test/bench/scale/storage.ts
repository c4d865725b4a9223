/** What stores and orders take: on MongoDB's disk for an order, in Redis' memory for a session and a store. */
import { clientKey } from '#shared/access/redis-keys.ts';
import type { Installation } from '#test/installation.ts';
import { readModels } from '#test/read-models.ts';
import { footprintOf } from '../projector/footprint.ts';
import type { StorageFigures } from './result.ts';

/** @param clients stores that have a key. */
export async function measureStorage(installation: Installation, clients: number): Promise<StorageFigures> {
  const { document, indexes } = await footprintOf(await readModels(installation));
  return {
    order_document_bytes: document,
    order_index_bytes: Object.values(indexes).reduce((sum, bytes) => sum + bytes, 0),
    ...(await bytesInRedis(installation, clients)),
  };
}

/** Of the installation's keys alone. */
async function bytesInRedis(
  { redis, config }: Installation,
  clients: number,
): Promise<Pick<StorageFigures, 'session_bytes' | 'store_bytes'>> {
  const sessions = { count: 0, bytes: 0 };
  let others = 0;
  const ofStores = [`${config.namePrefix}:{`, clientKey(config.namePrefix, '')];
  for await (const keys of redis.scanStream({
    match: `${config.namePrefix}:*`,
    count: 1_000,
  }) as AsyncIterable<string[]>) {
    const sizes = await Promise.all(keys.map((key) => redis.memory('USAGE', key)));
    for (const [index, key] of keys.entries()) {
      const bytes = sizes[index] ?? 0;
      if (/:session:/.test(key)) {
        sessions.count += 1;
        sessions.bytes += bytes;
      } else if (ofStores.some((prefix) => key.startsWith(prefix))) others += bytes;
    }
  }
  return { session_bytes: sessions.bytes / sessions.count, store_bytes: others / clients };
}
