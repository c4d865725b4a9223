/** What stores use now: the requests that their quotas count, and their sessions. Redis alone knows both, so its keys are looked at. */
import type { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { controlCollections, storeAccessId } from '#shared/access/access-keys.ts';
import type { RedisMasters } from '#shared/redis-masters.ts';
import { execute } from '#shared/redis-pipeline.ts';

export interface StoreUse {
  /** Those with the most requests first. */
  stores: OneStoreUse[];
  sessions: number;
  /** Whether every key was looked at; if not, there is more than this. */
  complete: boolean;
}

interface OneStoreUse {
  environment: string;
  store_id: string;
  /** Of the window that runs. */
  requests: number;
  /** Of the store's own quota; `null` where the configured one holds. */
  quota: number | null;
  sessions: number;
}

export interface UseSources {
  redis: Pick<RedisMasters, 'all'>;
  control: Db;
  prefix: string;
  environments: readonly string[];
}

/** Keys that Redis looks at before it serves others, and how often it is asked to: it is a page that waits for this. */
const LOOKED_AT_TOGETHER = 1_000;
const MOST_LOOKS = 50;
const MOST_STORES = 50;

/** Looks at the keys of all stores, at most so many. */
export async function readStoreUse({ redis, control, prefix, environments }: UseSources): Promise<StoreUse> {
  const shape = new RegExp(
    `^${prefix}:\\{(?<store>.+):(?<environment>[a-z0-9-]+)\\}:(?<what>session|quota):`,
  );
  const stores = new Map<string, OneStoreUse>();
  let sessions = 0;
  let complete = true;
  for (const { redis: master } of redis.all()) {
    const counts: { store: OneStoreUse; name: string }[] = [];
    const there = await findNames(master, `${prefix}:{*}:*`);
    complete &&= there.complete;
    for (const name of there.names) {
      const { store = '', environment = '', what } = shape.exec(name)?.groups ?? {};
      if (!environments.includes(environment)) continue;
      const id = `${environment}/${store}`;
      const found = stores.get(id) ?? { environment, store_id: store, requests: 0, quota: null, sessions: 0 };
      stores.set(id, found);
      if (what === 'quota') counts.push({ store: found, name });
      else {
        found.sessions += 1;
        sessions += 1;
      }
    }
    const asked = master.pipeline();
    for (const { name } of counts) asked.get(name);
    const answers = await execute(asked);
    // Of two windows the one with more counts, which is the one that runs.
    for (const [index, { store }] of counts.entries())
      store.requests = Math.max(store.requests, Number(answers[index] ?? 0));
  }
  const shown = [...stores.values()]
    .toSorted((a, b) => b.requests - a.requests || b.sessions - a.sessions)
    .slice(0, MOST_STORES);
  const own = await controlCollections(control)
    .stores.find({
      _id: { $in: shown.map((one) => storeAccessId(one.environment, one.store_id)) },
      quota: { $exists: true },
    })
    .toArray();
  for (const { environment, store_id, quota } of own) {
    const one = shown.find((store) => store.environment === environment && store.store_id === store_id);
    if (one !== undefined) one.quota = quota?.requests ?? null;
  }
  return { stores: shown, sessions, complete };
}

async function findNames(redis: Redis, match: string): Promise<{ names: Set<string>; complete: boolean }> {
  // What is scanned may be told twice.
  const names = new Set<string>();
  let cursor = '0';
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const [next, found] = await redis.scan(cursor, 'MATCH', match, 'COUNT', LOOKED_AT_TOGETHER);
    for (const name of found) names.add(name);
    cursor = next;
    if (cursor === '0') return { names, complete: true };
  }
  return { names, complete: false };
}
