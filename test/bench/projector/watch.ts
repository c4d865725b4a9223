/** Watches a side at work until everything is written. */
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds } from '../process-figures.ts';
import { type Sight, totalOf } from './phases.ts';
import type { RunningSide } from './sides/side.ts';
import { PARTITIONS } from './topic/messages.ts';

const LOOK_MS = 50;
/** A side is given up when it writes nothing for so long. */
const STUCK_MS = 120_000;

/**
 * Looks until `isDone`.
 * @param mongod its process on this machine, if it is there.
 */
export async function watch(
  side: RunningSide,
  mongod: number | null,
  isDone: (total: number) => boolean,
): Promise<Sight[]> {
  const sights: Sight[] = [];
  let movedAt = performance.now();
  let before = -1;
  for (;;) {
    const known = await side.positions();
    const positions = Array.from({ length: PARTITIONS }, (_, partition) => known.get(partition) ?? 0);
    const sight: Sight = {
      at: performance.now(),
      positions,
      writerCpu: await cpuSeconds(side.pid),
      mongodCpu: mongod === null ? null : await cpuSeconds(mongod),
    };
    sights.push(sight);
    const total = totalOf(positions);
    if (isDone(total)) return sights;
    if (total > before) [before, movedAt] = [total, sight.at];
    else if (sight.at - movedAt > STUCK_MS) throw new Error(`nothing happens after ${total} events`);
    await sleep(LOOK_MS);
  }
}
