/**
 * The partitions that are assigned to a consumer, each with its loop. A new assignment retains,
 * revokes and starts loops.
 */
import type { ClientSession } from 'mongodb';
import type { KnownBounds } from '#shared/kafka/cluster.ts';
import { holdCheckpoint, runInTransaction } from '#shared/projection/slice/checkpoint.ts';
import type { Clock } from '#shared/waiting.ts';
import type { PartitionLoop } from './loop.ts';
import { isFenced } from './slice-writer.ts';

export type Assignment = ReturnType<typeof createAssignment>;

export function createAssignment(startLoop: (partition: number) => PartitionLoop, clock: Clock) {
  let loops = new Map<number, PartitionLoop>();
  return {
    noteBounds(bounds: KnownBounds['bounds']): void {
      for (const [partition, loop] of loops) {
        const known = bounds.get(partition);
        if (known !== undefined) loop.noteBounds(known);
      }
    },

    /** The partitions with their positions, -1 where that is not known yet. */
    positions: () =>
      new Map(loops.entries().map(([partition, loop]) => [partition, loop.position ?? -1])),

    /**
     * Runs a transaction between two slices of a partition, in its session; `null` if the partition
     * is not ours, or no longer.
     */
    async runBetweenSlices<R extends object>(
      partition: number,
      work: (session: ClientSession) => Promise<R>,
    ): Promise<R | null> {
      const found = loops.get(partition)?.runBetweenSlices((claim) =>
        runInTransaction(claim.session, async () => {
          await holdCheckpoint(claim, clock);
          return work(claim.session);
        }),
      );
      try {
        return (await found) ?? null;
      } catch (error) {
        if (isFenced(error)) return null;
        throw error;
      }
    },

    /** Starts no further slice, and resolves when the current ones have ended. */
    async stop(): Promise<void> {
      for (const loop of loops.values()) loop.revoke();
      await Promise.all(loops.values().map(({ ended }) => ended));
    },

    /**
     * Replaces the assignment. The loops of partitions that stay ours continue: one that lost its
     * checkpoint meanwhile is fenced, and claims again.
     */
    assign(partitions: readonly number[]): void {
      const former = loops;
      loops = new Map(
        partitions.map((partition) => [partition, former.get(partition) ?? startLoop(partition)]),
      );
      for (const [partition, loop] of former) if (!loops.has(partition)) loop.revoke();
    },
  };
}
