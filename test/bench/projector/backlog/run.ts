/** The projector's memory while far more events wait than it can hold. */
import { loadavg } from 'node:os';
import { layGround } from '../../ground.ts';
import { describeMachine, type Machine } from '../../machine.ts';
import { rounded } from '../../median.ts';
import type { Say } from '../../say.ts';
import { peakMebibytes } from '../../process-figures.ts';
import { ourSide } from '../sides/ours.ts';
import { PARTITIONS } from '../topic/messages.ts';
import { publishBacklog } from '../topic/publish.ts';
import { watch } from '../watch.ts';
import { totalOf } from '../phases.ts';

/** So much of the backlog is worked off: what memory is going to be shows long before. */
const SHARE = 0.1;

export interface BacklogResult {
  benchmark: 'projector-backlog';
  date: string;
  command: string;
  machine: Machine;
  load_average: number;
  backlog: number;
  applied: number;
  events_per_second: number;
  peak_mib: number;
}

/** Runs it; whatever it starts ends with `cleanup`. */
export async function runBacklogBench(
  backlog: number,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<BacklogResult> {
  const ground = await layGround(say, cleanup, {}, { partitions: PARTITIONS });
  const load = loadavg()[0] ?? 0;
  await publishBacklog(ground.installation, backlog, say);
  const side = await ourSide(ground, 'ours').start(0);
  cleanup.defer(side.stop);
  const sights = await watch(side, null, (total) => total >= backlog * SHARE);
  const [first, last] = [sights.find(({ positions }) => totalOf(positions) > 0), sights.at(-1)];
  if (first === undefined || last === undefined) throw new Error('nothing was seen');
  const applied = totalOf(last.positions);
  return {
    benchmark: 'projector-backlog',
    date: new Date().toISOString().slice(0, 10),
    command: `npm run bench -- projector --backlog ${backlog}`,
    machine: await describeMachine(ground.installation.mongodb),
    load_average: rounded(load, 1),
    backlog,
    applied,
    events_per_second: rounded(((applied - totalOf(first.positions)) * 1_000) / (last.at - first.at), 0),
    peak_mib: rounded(await peakMebibytes(side.pid), 0),
  };
}
