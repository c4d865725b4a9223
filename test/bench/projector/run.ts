/** `npm run bench -- projector`: events a second of the projector, and what it and MongoDB take for one. */
import { loadavg } from 'node:os';
import type { Command } from 'commander';
import { type Ground, layGround } from '../ground.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { median, rounded } from '../median.ts';
import { addShowing, atLeast, roundsOption } from '../options.ts';
import { peakMebibytes } from '../process-figures.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { type Say, say } from '../say.ts';
import { grouped, measuredOn, table } from '../table.ts';
import { type Pace, type Phases, phasesOf, watch } from './phases.ts';
import { mongodProcess, startProjector } from './writer.ts';
import { PARTITIONS, type Published, publishOrders } from './topic.ts';

export interface ProjectorBenchOptions {
  orders: number;
  rounds: number;
}

/** What one round measured. */
interface RoundResult extends Phases {
  /** Resident memory of the process at its largest. */
  peak_mib: number;
}

export interface ProjectorBenchResult extends RoundResult {
  benchmark: 'projector';
  date: string;
  command: string;
  machine: Machine;
  load_average: number;
  bytes_per_event: number;
}

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runProjectorBench(
  { orders, rounds }: ProjectorBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<ProjectorBenchResult> {
  const ground = await layGround(say, cleanup, {}, { partitions: PARTITIONS });
  const load = loadavg()[0] ?? 0;
  const published = await publishOrders(ground.installation, orders, say);
  const results: RoundResult[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const result = await measure(ground, round, { orders, ...published });
    const { created, changed, all, peak_mib: peak } = result;
    say(
      `round ${round + 1}: created ${inWords(created)}, changed ${inWords(changed)}, in all ${inWords(all)}, peak ${peak} MiB`,
    );
    results.push(result);
  }
  return {
    benchmark: 'projector',
    date: new Date().toISOString().slice(0, 10),
    command: `npm run bench -- projector --orders ${orders} --rounds ${rounds}`,
    machine: await describeMachine(ground.installation.mongodb),
    load_average: rounded(load, 1),
    bytes_per_event: published.bytesPerEvent,
    ...medianOf(results),
  };
}

async function measure(
  ground: Ground,
  round: number,
  { orders, events, boundaries }: Published & { orders: number },
): Promise<RoundResult> {
  const { mongodb } = ground.installation;
  // What the round before left to be written shall not be on this one's account.
  await mongodb.db().admin().command({ fsync: 1 });
  const running = await startProjector(ground, round);
  try {
    const sights = await watch(running, await mongodProcess(mongodb), (total) => total >= events);
    const peak = await peakMebibytes(running.pid);
    await running.check(orders);
    return { ...phasesOf(sights, boundaries), peak_mib: rounded(peak, 0) };
  } finally {
    await running.stop();
    await (await running.database())?.dropDatabase();
  }
}

function inWords({ events_per_second: rate, writer_cpu: writer, mongod_cpu: mongod }: Pace): string {
  return `${rate.toFixed(0)}/s (${writer.toFixed(3)} + ${mongod?.toFixed(3) ?? '–'} ms)`;
}

function medianOf(results: readonly RoundResult[]): RoundResult {
  const last = results.at(-1);
  if (last === undefined) throw new Error('there was no round');
  const pace = (phase: keyof Phases): Pace => {
    const of = (figure: (pace: Pace) => number) => median(results.map((result) => figure(result[phase])));
    const isKnown = last[phase].mongod_cpu !== null;
    return {
      events_per_second: Math.round(of((one) => one.events_per_second)),
      writer_cpu: of((one) => one.writer_cpu),
      mongod_cpu: isKnown ? of((one) => one.mongod_cpu ?? Number.NaN) : null,
    };
  };
  return {
    created: pace('created'),
    changed: pace('changed'),
    all: pace('all'),
    peak_mib: Math.max(...results.map(({ peak_mib: peak }) => peak)),
  };
}

const TITLES = ['events', 'events/s', 'writer', 'mongod', 'both', 'peak MiB'];

/** The result in words and figures. */
export function render(result: ProjectorBenchResult): string {
  const { created, changed, all, peak_mib: peak } = result;
  const row = (name: string, { events_per_second: rate, writer_cpu: writer, mongod_cpu: mongod }: Pace) => [
    name,
    grouped(rate),
    ...[writer, mongod, mongod && writer + mongod].map((value) => value?.toFixed(3) ?? '–'),
  ];
  const rows = [row('created', created), row('changed', changed), [...row('in all', all), String(peak)]];
  const load = `; load average ${result.load_average} when it began; events of ${result.bytes_per_event} bytes`;
  return [measuredOn(result, load), table(TITLES, rows)].join('\n');
}

export function addProjectorBench(program: Command): void {
  const command = program
    .command('projector')
    .description('Events a second of the projector, and what it and MongoDB take for one.')
    .option('--orders <number>', 'orders that are created, and then all changed', atLeast(1_000), 100_000)
    .addOption(roundsOption(3, 'one after the other'));
  addShowing(command).action(async ({ json, writeDocs, ...options }: ProjectorBenchOptions & Showing) => {
    const shown = { section: 'projector', json, writeDocs, screen: render, markdown: render };
    await runAndPresent((cleanup) => runProjectorBench(options, say, cleanup), shown);
  });
}
