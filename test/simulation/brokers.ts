/**
 * The brokers of the world, for the real fetcher: answers are late, cut, throttled or lost, leave
 * partitions out, come from a former leader, or find no leader at all.
 */
import type { Answer, Brokers, Fetched, FetchRequest } from '#shared/kafka/fetcher.ts';
import { unavailable } from '#shared/errors.ts';
import type { Random } from '../../deploy/testing/random.ts';
import type { PartitionLog } from './log.ts';
import type { Host, Scheduler } from './scheduler.ts';

export interface Cluster {
  scheduler: Scheduler;
  random: Random;
  logs: readonly PartitionLog[];
  /** The broker that leads each partition; `null` where there is none. */
  leaders: readonly (number | null)[];
  /** The probability of each fault of a request. */
  faultChance: number;
}

const MAX_LATE_MS = 4_000;
const MAX_THROTTLE_MS = 3_000;

/** The brokers as one client sees them. */
export class SimulatedBrokers implements Brokers {
  readonly #cluster: Cluster;
  readonly #host: Host;
  /** As last heard. */
  #leaders: readonly (number | null)[];
  /** Ends the waits of brokers for messages. */
  #waiting = new AbortController();

  constructor(cluster: Cluster, host: Host) {
    this.#cluster = cluster;
    this.#host = host;
    this.#leaders = [...cluster.leaders];
  }

  leaderOf = (partition: number) => this.#leaders[partition] ?? null;

  refresh = async () => {
    await this.#pass(1 + this.#cluster.random.below(20));
    if (this.#hasFault()) throw unavailable('no broker answers');
    this.#leaders = [...this.#cluster.leaders];
  };

  bounds = async (partition: number) => {
    await this.#pass(2);
    if (this.#cluster.leaders[partition] === null) throw unavailable('no leader');
    return this.#logOf(partition).bounds;
  };

  /** A log has new or readable messages. */
  wake(): void {
    this.#waiting.abort();
    this.#waiting = new AbortController();
  }

  fetch = async (broker: number, { maxWaitMs, partitions }: FetchRequest): Promise<Fetched> => {
    const { random, scheduler, leaders } = this.#cluster;
    await this.#pass(1 + random.below(5));
    if (this.#hasFault()) {
      await this.#pass(random.below(MAX_LATE_MS));
      throw unavailable('the broker does not answer');
    }
    // The broker mutes the connection; heartbeats go by others.
    if (this.#hasFault()) return { throttleMs: 1 + random.below(MAX_THROTTLE_MS), partitions: [] };
    const isReady = () =>
      partitions.some(
        ({ partition, from }) =>
          leaders[partition] !== broker || this.#logOf(partition).isReadable(from),
      );
    const end = scheduler.now + maxWaitMs;
    while (!isReady() && scheduler.now < end)
      await this.#pass(end - scheduler.now, this.#waiting.signal);
    const answered = partitions
      .filter(() => !this.#hasFault())
      .map(({ partition, from }) => {
        const answer: 'moved' | Answer =
          leaders[partition] === broker ? this.#logOf(partition).fetch(from) : 'moved';
        return { partition, read: async () => answer };
      });
    if (this.#hasFault()) await this.#pass(random.below(MAX_LATE_MS));
    return { throttleMs: 0, partitions: answered };
  };

  #hasFault(): boolean {
    return this.#cluster.random.chance(this.#cluster.faultChance);
  }

  #logOf(partition: number): PartitionLog {
    const log = this.#cluster.logs[partition];
    if (log === undefined) throw new Error(`there is no partition ${partition}`);
    return log;
  }

  #pass(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return this.#cluster.scheduler.clockOf(this.#host).sleep(milliseconds, signal);
  }
}
