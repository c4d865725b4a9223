/** On what, and beside what, a result was measured. */
import type { ScaleResult } from '../result.ts';
import { grouped } from './cells.ts';

export function measuredOn(result: ScaleResult): string {
  const { date, machine, mongodb_cache_gib: cache, load_average: load, filled } = result;
  const rate = grouped(filled.events / filled.seconds);
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, Node ${machine.node},`,
    `MongoDB ${machine.mongodb} with ${cache.toFixed(1)} GiB of cache; load average ${load.toFixed(1)} when it began.`,
    `The projector applied ${grouped(filled.events)} events, while they were published, at ${rate} a second.`,
  ].join(' ');
}
