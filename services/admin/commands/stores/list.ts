/** `stores list` and `stores show`: which stores there are, who may read them, and what is there. */
import { Command } from '@commander-js/extra-typings';
import {
  controlCollections,
  isBlocked,
  type StoreAccess,
  storeAccessId,
} from '#shared/access/access-keys.ts';
import { notFound } from '#shared/errors.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS, type StoreDocument } from '#shared/read-models/collections.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import { inEnvironment, type Servers, withServers } from '../../connection/servers.ts';
import {
  chooseEnvironments,
  environmentOption,
  jsonOption,
  limitOption,
  oneEnvironmentOption,
  storeId as readStoreId,
} from '../../options.ts';
import { printable, printFacts, printFirst } from '../../output/print.ts';
import { measureLag } from '../lag.ts';
import { inWords, toJson as quotaToJson } from '../quota.ts';

interface StoreRow {
  store_id: string;
  environment: string;
  /** `null` until the store's own record has arrived. */
  name: string | null;
  access: StoreAccess | null;
  keys: { active: number; all: number };
}

export const listCommand = () =>
  new Command('list')
    .description('List stores that have a record or a key')
    .addOption(environmentOption('only those of an environment'))
    .addOption(limitOption(100))
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const found: StoreRow[] = [];
        for (const environment of chooseEnvironments(servers.config, flags.environment)) {
          found.push(...(await storesOf(servers, environment, {}, flags.limit + 1)));
        }
        printFirst(
          flags,
          found,
          (first) => first.map(toJson),
          [
            ['STORE', 'store_id'],
            ['ENVIRONMENT', 'environment'],
            ['STATUS', ({ blocked }) => (blocked ? 'blocked' : 'active')],
            ['KEYS', 'active_keys', 'right'],
            ['QUOTA', ({ quota }) => inWords(quota), 'fills'],
            ['NAME', ({ name }) => printable(name ?? '-'), 'fills'],
          ],
          'no stores',
        );
      }),
    );

export const showCommand = () =>
  new Command('show')
    .description('Show who may read a store, and how much there is')
    .argument('<store>', 'the store', readStoreId)
    .addOption(oneEnvironmentOption())
    .addOption(jsonOption())
    .action((store_id, flags) =>
      inEnvironment(flags, async (servers, environment) => {
        const [row] = await storesOf(servers, environment, { store_id }, 1);
        if (row === undefined) throw notFound(`there is no store ${store_id} in ${environment}`);
        const counts = await countsOf(servers, environment, store_id);
        const lag = await lagOf(servers, environment);
        const { name, access, keys } = row;
        printFacts(flags, { ...toJson(row), counts, environment_lag: lag }, [
          ['store', store_id],
          ['environment', environment],
          ['name', name === null ? '(its record has not arrived)' : printable(name)],
          ['status', statusInWords(access)],
          ['quota', inWords(access?.quota)],
          ['keys', `${keys.active} active of ${keys.all}`],
          ...Object.entries(counts),
          ['lag', `${lag} messages of all stores of ${environment} are not applied yet`],
        ]);
      }),
    );

/** By id. What one source does not know another one may. */
async function storesOf(
  servers: Servers,
  environment: string,
  filter: { store_id?: string },
  limit: number,
): Promise<StoreRow[]> {
  const generation = await liveGeneration(servers, environment);
  const { stores, keys } = controlCollections(await servers.control());
  const first = { sort: { store_id: 1 }, limit } as const;
  const [records, access, owners] = await Promise.all([
    generation?.db.collection<StoreDocument>(COLLECTIONS.store).find(filter, first).toArray() ?? [],
    stores.find({ environment, ...filter }, first).toArray(),
    keys
      .aggregate<{ _id: string; active: number; all: number }>([
        { $match: { environment, ...filter } },
        {
          $group: {
            _id: '$store_id',
            active: { $sum: { $cond: [{ $eq: ['$status', 'active'] }, 1, 0] } },
            all: { $sum: 1 },
          },
        },
        { $sort: { _id: 1 } },
        { $limit: limit },
      ])
      .toArray(),
  ]);
  const named = [...records, ...access].map((one) => one.store_id);
  const ids = new Set([...named, ...owners.map(({ _id }) => _id)]);
  return [...ids]
    .toSorted()
    .slice(0, limit)
    .map((store_id) => {
      const record = records.find((one) => one.store_id === store_id);
      const { active = 0, all = 0 } = owners.find(({ _id }) => _id === store_id) ?? {};
      return {
        store_id,
        environment,
        name: record === undefined ? null : (JSON.parse(record.summary) as { name: string }).name,
        access: access.find(({ _id }) => _id === storeAccessId(environment, store_id)) ?? null,
        keys: { active, all },
      };
    });
}

async function liveGeneration(servers: Servers, environment: string) {
  return findLiveGeneration(await servers.databases(environment), environment);
}

/** How many records of each kind there are, besides its own. */
async function countsOf(servers: Servers, environment: string, store_id: string) {
  const generation = await liveGeneration(servers, environment);
  const kinds = ENTITY_NAMES.filter((entity) => entity !== 'store').map((entity) => COLLECTIONS[entity]);
  const counts = kinds.map(async (collection) => {
    const count = await generation?.db.collection(collection).countDocuments({ store_id });
    return [collection, count ?? 0] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

async function lagOf(servers: Servers, environment: string): Promise<number> {
  const lags = await measureLag(servers, [environment]);
  const topic = changesTopic(environment);
  return lags.reduce((sum, one) => sum + (one.topic === topic ? (one.lag ?? 0) : 0), 0);
}

function statusInWords(access: StoreAccess | null): string {
  if (!isBlocked(access)) return 'active';
  if (access?.erased !== undefined) {
    return access.erased.ends === undefined ? 'blocked: it is being erased' : 'blocked: it was erased';
  }
  return access?.access_status === 'blocked' ? 'blocked' : 'blocked by its own record';
}

function toJson({ store_id, environment, name, access, keys }: StoreRow) {
  return {
    store_id,
    environment,
    name,
    blocked: isBlocked(access),
    access_status: access?.access_status ?? 'active',
    record_status: access?.record_status ?? 'active',
    quota: quotaToJson(access?.quota),
    active_keys: keys.active,
    keys: keys.all,
  };
}
