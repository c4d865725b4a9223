/** The partitions of a consumer's present assignment: what comes of the loop of each when the next one differs. */
import type { ClientSession } from 'mongodb';
import { runInTransaction } from '#shared/projection/slice/slice.ts';
import type { Clock } from '#shared/waiting.ts';
import type { FetchedBatch } from './continuity.ts';
import type { PartitionLoop } from './loop.ts';

/** How long a partition that is assigned to us again waits for its former slice. */
const MAX_ENDING_MS = 1_000;

interface Running {
  loop: PartitionLoop;
  /** Resolves when nothing is under way any longer. */
  ended: Promise<void>;
}

export class Assignment {
  readonly #createLoop: (partition: number) => PartitionLoop;
  readonly #clock: Clock;
  #running = new Map<number, Running>();

  constructor(createLoop: (partition: number) => PartitionLoop, clock: Clock) {
    this.#createLoop = createLoop;
    this.#clock = clock;
  }

  async take(partition: number, batch: FetchedBatch): Promise<void> {
    await this.#running.get(partition)?.loop.take(batch);
  }

  isIdle(): boolean {
    return this.#running.values().every(({ loop }) => loop.isIdle);
  }

  partitions(): number[] {
    return [...this.#running.keys()];
  }

  /** How far each partition is applied; -1 where that is not known yet. */
  positions(): Map<number, number> {
    return new Map(this.#running.entries().map(([number, { loop }]) => [number, loop.position ?? -1]));
  }

  /** Runs a transaction between two slices of a partition, in its session; `null` where the partition is not ours. */
  async runBetweenSlices<R extends object>(
    partition: number,
    work: (session: ClientSession) => Promise<R>,
  ): Promise<R | null> {
    const loop = this.#running.get(partition)?.loop;
    return loop?.runBetweenSlices((session) => runInTransaction(session, () => work(session))) ?? null;
  }

  /** No slice is begun any longer; resolves when those under way have ended. */
  async stop(): Promise<void> {
    for (const { loop } of this.#running.values()) loop.stop();
    await Promise.all(this.#running.values().map(({ ended }) => ended));
  }

  /** Replaces the assignment. @returns the partitions that stay ours, whose loops continue. */
  assign(partitions: readonly number[]): number[] {
    const former = this.#running;
    this.#running = new Map();
    const kept = new Set<number>();
    for (const [partition, { loop }] of former) {
      if (partitions.includes(partition) && loop.retain()) kept.add(partition);
      else loop.revoke();
    }
    for (const partition of partitions) {
      const running = former.get(partition);
      if (running === undefined || !kept.has(partition)) this.#begin(partition, running);
      else {
        this.#running.set(partition, running);
        void this.#replaceIfClaimed(partition, running);
      }
    }
    return [...kept];
  }

  /** Another projector may have claimed and lost a partition between two assignments to us: then it is claimed anew. */
  async #replaceIfClaimed(partition: number, running: Running): Promise<void> {
    if (!(await running.loop.isClaimedByOther()) || this.#running.get(partition) !== running) return;
    running.loop.revoke();
    this.#begin(partition, running);
  }

  /** Claiming kills the previous owner's transaction: if that owner is us, it may end before. */
  #begin(partition: number, former: Running | undefined): void {
    const loop = this.#createLoop(partition);
    const run = async () => {
      if (former !== undefined) {
        const ended = new AbortController();
        void former.ended.then(() => ended.abort());
        await this.#clock.sleep(MAX_ENDING_MS, ended.signal);
      }
      await loop.run();
    };
    this.#running.set(partition, { loop, ended: run() });
  }
}
