/** Verifies what is served against the log itself: versions, bodies, deletions, and what is stored without any event. */
import type { Db } from 'mongodb';
import { ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import type { Servers } from '../connection/servers.ts';
import { LogReader } from '../log/reader.ts';
import { Findings } from './findings.ts';
import { verifyPartition } from './partition.ts';

export interface DeepVerification {
  findings: Findings;
  stores: number;
  entities: number;
  messages: number;
}

/**
 * Verifies an environment's read models, partition by partition, beside services at work.
 * @param only the one store; `null` for all.
 * @throws {StoreDataError} `history_lost` when the topic does not reach back to its beginning.
 */
export async function verifyDeep(
  servers: Servers,
  environment: string,
  db: Db,
  only: string | null,
  say: (text: string) => void,
): Promise<DeepVerification> {
  const topic = changesTopic(environment);
  // Before anything is read: what comes later may be of events that are not read.
  const present = only === null ? await storesIn(db) : new Set([only]);
  const result: DeepVerification = { findings: new Findings(), stores: 0, entities: 0, messages: 0 };
  const reader = await LogReader.open(servers, topic);
  try {
    const partitions = [...(await reader.bounds()).keys()].toSorted((a, b) => a - b);
    for (const partition of partitions) {
      const { stores, entities, messages } = await verifyPartition({
        client: await servers.mongodb(),
        db,
        control: await servers.control(),
        reader,
        topic,
        partition,
        only,
        findings: result.findings,
        progress: (read, of) =>
          say(`${topic}/${partition} of ${partitions.length} partitions: read ${read} of ${of} messages`),
      });
      for (const store of stores) present.delete(store);
      result.stores += stores.length;
      result.entities += entities;
      result.messages += messages;
    }
  } finally {
    await reader.close();
  }
  for (const storeId of present) {
    if (await hasAnything(db, storeId)) result.findings.add(storeId, 'the store', 'records', 'no event');
  }
  return result;
}

async function storesIn(db: Db): Promise<Set<string>> {
  const stores = new Set<string>();
  for (const name of [STAMPS, ...ENTITY_NAMES.map((entity) => COLLECTIONS[entity])]) {
    const found: unknown[] = await db.collection(name).distinct('store_id');
    for (const store of found) if (typeof store === 'string') stores.add(store);
  }
  return stores;
}

async function hasAnything(db: Db, storeId: string): Promise<boolean> {
  if ((await db.collection<Stamp>(STAMPS).findOne({ _id: storeId })) !== null) return true;
  for (const entity of ENTITY_NAMES) {
    if ((await db.collection(COLLECTIONS[entity]).findOne({ store_id: storeId })) !== null) return true;
  }
  return false;
}
