/** What writes the topic's orders into MongoDB, whoever it is. */
import type { Db } from 'mongodb';

export interface RunningSide {
  pid: number;
  /** How many events of each partition are written; a partition that nothing is known of yet is absent. */
  positions: () => Promise<Map<number, number>>;
  /** Checks that every order is there in its last version. @throws when not. */
  check: (orders: number) => Promise<void>;
  /** Where it wrote; `null` as long as there is nothing. */
  database: () => Promise<Db | null>;
  stop: () => Promise<void>;
}

export interface Side {
  name: 'ours' | 'without trees' | 'connector';
  /** Starts it on an empty database, at the topic's beginning. */
  start: (round: number) => Promise<RunningSide>;
}
