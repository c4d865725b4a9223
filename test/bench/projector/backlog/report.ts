/** The result in words, for the terminal and for `docs/benchmarks.md`. */
import { grouped } from '../../query/report/columns.ts';
import type { BacklogResult } from './run.ts';

export function renderBacklog(result: BacklogResult): string {
  const { date, command, machine, load_average: load, backlog, applied } = result;
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), Node ${machine.node}; load average ${load}; \`${command}\`.`,
    `With ${grouped(backlog)} events waiting the projector held at most ${result.peak_mib} MiB while it applied the first ${grouped(applied)} (${grouped(result.events_per_second)} a second).`,
  ].join('\n');
}
