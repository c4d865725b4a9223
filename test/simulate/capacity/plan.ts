/** What an installation needs for its demand, from measured figures: how many of each, and which is short first. */
import { imbalance, loadOfMasters, loadOfPartitions, loadOfShards } from './balance.ts';
import { type Demand, KAFKA_REPLICAS, PLANNED, REBUILD_HOURS, SHARD } from './demand.ts';
import type { Figures } from './figures.ts';
import type { Rhythm } from './rhythm.ts';
import { ordersOfStores } from './skew.ts';

/** One thing that can be short. */
export interface Need {
  what: string;
  /** Of all, and what one of them is planned to carry, in `unit`. */
  demand: number;
  one: number;
  unit: string;
  /** How many times as much as the mean the most loaded one has. */
  imbalance: number;
  /** `null` where no number suffices, since one store or one partition alone is more than one carries. */
  needed: number | null;
  formula: string;
  source: string;
}

/** Orders a day of the stores. */
export interface Spread {
  largest: number;
  middle: number;
  smallest: number;
}

export interface Balance {
  what: string;
  imbalance: number;
}

export interface Plan {
  demand: Demand;
  spread: Spread;
  rhythm: Rhythm;
  /** In the busiest hour. */
  eventsPerSecond: number;
  balances: Balance[];
  needs: Need[];
}

/** Of MongoDB's indexes: `leaf_page_max` in their `creationString`. */
const INDEX_PAGE_BYTES = 16_384;
/** Of an order: `by_rank`, `by_facet`, `by_updated` and `by_feed` grow at a store's end; `_id`, `by_customer` and, where it is sharded, `by_shard_key` anywhere. */
const INDEXES = { atTheEnd: 4, anywhere: 3 };
/** Tokens are renewed shortly before their end: two for a client at most, and more than one client for a store. */
const SESSIONS_A_STORE = 4;
const REDIS_GIB = 16;
const LINK_GBIT = 10;

const GIB = 2 ** 30;
const TIB = 2 ** 40;
const DAY_SECONDS = 86_400;
const MOST_PARTS = 64;

export function planFor(demand: Demand, figures: Figures, rhythm: Rhythm): Plan {
  const loads = ordersOfStores(demand);
  const partitions = loadOfPartitions(loads, demand.partitions);
  // As uneven as the number that is chosen makes it.
  const chosen = imbalance(partitions);
  const ofShards = (shards: number) => imbalance(loadOfShards(partitions, shards));
  const ofMasters = (masters: number) => imbalance(loadOfMasters(loads, masters));
  const { request } = figures;
  const { requestsPerSecond: requests, stores, days, waiting } = demand;
  const events = (demand.ordersADay / DAY_SECONDS) * rhythm.eventsOfOrder * rhythm.busiest;
  const ordersKept = demand.ordersADay * days;
  const eventsKept = ordersKept * rhythm.eventsOfOrder;
  const ordersInBusiestHour = (demand.ordersADay / 24) * rhythm.busiest;
  const pages = stores * INDEXES.atTheEnd + ordersInBusiestHour * INDEXES.anywhere;
  const rebuilding = `to rebuild in ${REBUILD_HOURS} h`;
  const rebuilt = eventsKept / (REBUILD_HOURS * 3_600);
  const applied = (figures.projectorUs + figures.eventMongodbUs) / 1e6;
  const needs = [
    need(
      'query services',
      'cores',
      (requests * request.queryUs) / 1e6 + waiting * figures.waitingCores,
      PLANNED,
      {
        formula: 'requests × processor time + clients that wait × theirs',
        source: '`bench -- scale`',
      },
    ),
    need('query services, by clients that wait', 'clients', waiting, figures.waitingAtOnce, {
      formula: 'clients, by as many as were measured at one',
      source: '`bench -- changes`',
    }),
    need('masters of Redis', 'cores', (requests * request.redisUs) / 1e6, PLANNED, {
      formula: 'requests × Redis’ processor time; it has one thread',
      source: '`bench -- scale`',
      balance: ofMasters,
    }),
    need(
      'masters of Redis, by memory',
      'GiB',
      (stores * (figures.storeBytes + SESSIONS_A_STORE * figures.sessionBytes)) / GIB,
      REDIS_GIB * PLANNED,
      {
        formula: `stores × (a store + ${SESSIONS_A_STORE} sessions)`,
        source: '`bench -- scale`',
        balance: ofMasters,
      },
    ),
    need(
      'shards, by processor',
      'cores',
      (requests * request.mongodbUs + events * figures.eventMongodbUs) / 1e6,
      SHARD.cores * PLANNED,
      {
        formula: 'requests and events × MongoDB’s processor time',
        source: '`bench -- scale`',
        balance: ofShards,
      },
    ),
    need('shards, by index pages in use', 'GiB', (pages * INDEX_PAGE_BYTES) / GIB, SHARD.cacheGib * PLANNED, {
      formula: `(${INDEXES.atTheEnd} × stores + ${INDEXES.anywhere} × orders of the busiest hour) × 16 KiB`,
      source: 'the simulator, and the size of a page',
      balance: ofShards,
    }),
    need(
      'shards, by disk',
      'TiB',
      (ordersKept * (figures.orderDocumentBytes + figures.orderIndexBytes)) / TIB,
      SHARD.diskTib * PLANNED,
      { formula: 'orders kept × (document + indexes)', source: '`bench -- scale`', balance: ofShards },
    ),
    need('projectors', 'cores', (events * figures.projectorUs) / 1e6, PLANNED, {
      formula: 'events × processor time',
      source: '`bench -- scale`',
    }),
    need('partitions', 'cores', events * applied, PLANNED, {
      formula: 'events × (projector’s + MongoDB’s processor time)',
      source: '`bench -- scale`',
      balance: () => chosen,
    }),
    need(`partitions, ${rebuilding}`, 'cores', rebuilt * applied, 1, {
      formula: `events kept × (projector’s + MongoDB’s processor time) ÷ ${REBUILD_HOURS} h`,
      source: '`bench -- scale`',
      balance: () => chosen,
    }),
    need(`projectors, ${rebuilding}`, 'cores', (rebuilt * figures.projectorUs) / 1e6, 1, {
      formula: `events kept × processor time ÷ ${REBUILD_HOURS} h`,
      source: '`bench -- scale`',
    }),
    need(`shards, ${rebuilding}`, 'cores', (rebuilt * figures.eventMongodbUs) / 1e6, SHARD.cores, {
      formula: `events kept × MongoDB’s processor time ÷ ${REBUILD_HOURS} h`,
      source: '`bench -- scale`',
      balance: ofShards,
    }),
    need(
      'brokers of Kafka, by disk',
      'TiB',
      (eventsKept * figures.eventBytes * KAFKA_REPLICAS) / TIB,
      SHARD.diskTib * PLANNED,
      {
        formula: `events kept × bytes × ${KAFKA_REPLICAS} replicas, not compressed`,
        source: '`bench -- scale`',
      },
    ),
    need('links to clients', 'Gbit/s', (requests * request.clientBytes * 8) / 1e9, LINK_GBIT * PLANNED, {
      formula: 'requests × bytes of request and answer',
      source: '`bench -- scale`',
    }),
    need(
      'links to MongoDB and Redis',
      'Gbit/s',
      (requests * (request.mongodbBytes + request.redisBytes) * 8) / 1e9,
      LINK_GBIT * PLANNED,
      { formula: 'requests × bytes between the servers', source: '`bench -- scale`' },
    ),
  ];
  return {
    demand,
    spread: {
      largest: loads[0] ?? 0,
      middle: loads[Math.floor(stores / 2)] ?? 0,
      smallest: loads.at(-1) ?? 0,
    },
    rhythm,
    eventsPerSecond: events,
    balances: [
      ...[0.25, 0.5, 1, 2].map((factor) => {
        const number = Math.ceil(demand.partitions * factor);
        return { what: `${number} partitions`, imbalance: imbalance(loadOfPartitions(loads, number)) };
      }),
      ...[2, 3, 4, 6].map((shards) => ({ what: `${shards} shards`, imbalance: ofShards(shards) })),
      ...[3, 6].map((masters) => ({ what: `${masters} masters of Redis`, imbalance: ofMasters(masters) })),
    ],
    needs,
  };
}

/** How many times as much as one carries is demanded: the more, the sooner it is short. */
export function pressure({ demand, one, imbalance: uneven }: Need): number {
  return (demand * uneven) / one;
}

/** The fewest of which even the most loaded carries no more than one may. */
function need(
  what: string,
  unit: string,
  demand: number,
  one: number,
  { balance, ...described }: { formula: string; source: string; balance?: (parts: number) => number },
): Need {
  const even = Math.max(1, Math.ceil(demand / one));
  const evenly = { what, unit, demand, one, ...described };
  if (balance === undefined) return { ...evenly, imbalance: 1, needed: even };
  let uneven = 1;
  for (let parts = even; parts < even + MOST_PARTS; parts += 1) {
    uneven = balance(parts);
    if ((demand * uneven) / parts <= one) return { ...evenly, imbalance: uneven, needed: parts };
  }
  return { ...evenly, imbalance: uneven, needed: null };
}
