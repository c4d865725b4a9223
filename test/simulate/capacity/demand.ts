/** What an installation has to bear, and the machines that it may have. */

export interface Demand {
  stores: number;
  /** Of all stores. */
  ordersADay: number;
  /** In the busiest hour. */
  requestsPerSecond: number;
  /** Clients that wait for changes at the same time. */
  waiting: number;
  /** Days for which orders are kept. */
  days: number;
  /** Exponent of Zipf's law: the n-th largest store has n to its negative power of the largest one's orders. */
  skew: number;
  /** Orders a day beyond which no kitchen gets. */
  largest: number;
  partitions: number;
}

export const USUAL: Demand = {
  stores: 100_000,
  ordersADay: 20_000_000,
  requestsPerSecond: 50_000,
  waiting: 100_000,
  days: 365,
  skew: 1,
  largest: 5_000,
  partitions: 96,
};

/** Of all requests; the rest are polls answered 304. */
export const MIX = { details: 0.4, list: 0.3, poll: 0.3 } as const;
/** How much of a core, a cache or a link is planned with: the rest is for bursts, and for the loss of an instance. */
export const PLANNED = 0.6;
/** A replica set's primary: its cores, its cache and its disk. */
export const SHARD = { cores: 16, cacheGib: 64, diskTib: 4 } as const;
/** A replica of each partition on so many brokers. */
export const KAFKA_REPLICAS = 3;
/** Hours in which read models are to be made anew from the log. */
export const REBUILD_HOURS = 48;
