/** Verifies what is served against the log itself: versions, bodies, deletions, and what is stored without any event. */
import type { Db } from 'mongodb';
import { changesTopic } from '#shared/events/topics.ts';
import type { Servers } from '../connection/servers.ts';
import { LogReader } from '../log/reader.ts';
import { Findings } from './findings.ts';
import { verifyPart } from './part.ts';
import { hasAnything, storesIn } from './stores.ts';

export interface DeepVerification {
  findings: Findings;
  stores: number;
  entities: number;
  messages: number;
}

/** Entities of stores that are verified together: what is remembered of them fits into some hundred megabytes. */
const MOST_ENTITIES = 1_000_000;

/**
 * Verifies an environment's read models, beside services at work: partition by partition, and then once more the stores whose events
 * lie in several, since partitions were added.
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
  const findings = new Findings();
  const reader = await LogReader.open(servers, topic);
  const [client, control] = [await servers.mongodb(), await servers.control()];
  const verify = (partitions: readonly number[], stores: ReadonlySet<string> | null, what: string) =>
    verifyPart({
      client,
      db,
      control,
      reader,
      topic,
      partitions,
      only: stores,
      findings,
      progress: (read, of) => say(`${what}: read ${read} of ${of} messages`),
    });
  try {
    const all = [...(await reader.bounds()).keys()].toSorted((a, b) => a - b);
    let messages = 0;
    const stores = new Map<string, number>();
    const spread = new Map<string, number>();
    // One store may lie anywhere; of all of them hardly one lies in two.
    const parts = only === null ? all.map((partition) => [partition]) : [all];
    for (const partitions of parts) {
      const what = `${topic}/${partitions.join()} of ${all.length} partitions`;
      const part = await verify(partitions, only === null ? null : new Set([only]), what);
      messages += part.messages;
      for (const [store, count] of part.stores) {
        const before = stores.get(store);
        if (before !== undefined) spread.set(store, (spread.get(store) ?? before) + count);
        stores.set(store, count);
      }
    }
    findings.forget(spread);
    for (const batch of batches(spread)) {
      const again = await verify(all, batch, `${topic}, ${batch.size} stores in several partitions`);
      for (const [store, count] of again.stores) stores.set(store, count);
    }
    for (const storeId of present) {
      if (stores.has(storeId) || !(await hasAnything(db, storeId))) continue;
      findings.add(storeId, 'the store', 'records', 'no event');
    }
    const entities = [...stores.values()].reduce((sum, count) => sum + count, 0);
    return { findings, stores: stores.size, entities, messages };
  } finally {
    await reader.close();
  }
}

/** Stores in batches whose entities are few enough. @param counts entities by store. */
function batches(counts: ReadonlyMap<string, number>): Set<string>[] {
  const found: Set<string>[] = [];
  let [batch, size] = [new Set<string>(), 0];
  for (const [store, count] of counts) {
    if (batch.size > 0 && size + count > MOST_ENTITIES) {
      found.push(batch);
      [batch, size] = [new Set(), 0];
    }
    batch.add(store);
    size += count;
  }
  return batch.size === 0 ? found : [...found, batch];
}
