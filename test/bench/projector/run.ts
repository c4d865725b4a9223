/** One topic, written by one side after the other, round by round. */
import { loadavg } from 'node:os';
import type { Ground } from '../ground.ts';
import { layGround } from '../ground.ts';
import { describeMachine } from '../machine.ts';
import { median, rounded } from '../median.ts';
import type { Say } from '../say.ts';
import { type Footprint, footprintOf } from './footprint.ts';
import { type Pace, type Phases, phasesOf } from './phases.ts';
import { peakMebibytes } from '../process-figures.ts';
import type { ProjectorBenchOptions } from './options.ts';
import type { ProjectorBenchResult, SideResult } from './result.ts';
import { connectorSide } from './sides/connector.ts';
import { mongodProcess } from './sides/mongod.ts';
import { ourSide } from './sides/ours.ts';
import type { Side } from './sides/side.ts';
import { PARTITIONS } from './topic/messages.ts';
import { type Published, publishOrders } from './topic/publish.ts';
import { watch } from './watch.ts';

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runProjectorBench(
  { orders, rounds, only }: ProjectorBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<ProjectorBenchResult> {
  const ground = await layGround(say, cleanup, {}, { partitions: PARTITIONS });
  const { mongodb, kafka } = ground.installation;
  const admin = kafka.admin();
  await admin.connect();
  cleanup.defer(() => admin.disconnect());
  const sides = [
    ourSide(ground, 'ours'),
    await connectorSide(ground, admin, say),
    ourSide(ground, 'without trees'),
  ].filter(({ name }) => name === 'ours' || only === undefined || only.includes(name));
  const load = loadavg()[0] ?? 0;
  const published = await publishOrders(ground.installation, orders, say);
  const measured: SideResult[][] = [];
  let footprint: Footprint | null = null;
  for (let round = 0; round < rounds; round += 1) {
    const results: SideResult[] = [];
    // Each in its turn goes first.
    for (let turn = 0; turn < sides.length; turn += 1) {
      const side = sides[(round + turn) % sides.length];
      if (side === undefined) continue;
      const ended = await measure(ground, side, round, { orders, ...published });
      if (side.name === 'ours') footprint = ended.footprint;
      results.push(ended.result);
      say(progressLine(round, ended.result));
    }
    measured.push(results);
  }
  if (footprint === null) throw new Error('there was no round');
  return {
    benchmark: 'projector',
    date: new Date().toISOString().slice(0, 10),
    command: `npm run bench -- projector --orders ${orders} --rounds ${rounds}`,
    machine: await describeMachine(mongodb),
    load_average: rounded(load, 1),
    orders,
    rounds,
    bytes_per_event: published.bytesPerEvent,
    sides: sides.map(({ name }) => medianOf(measured.map((results) => resultOf(results, name)))),
    ratios: sides.filter(({ name }) => name !== 'ours').map(({ name: than }) => ratiosOf(measured, than)),
    footprint,
  };
}

async function measure(
  { installation: { mongodb } }: Ground,
  side: Side,
  round: number,
  { orders, events, boundaries }: Published & { orders: number },
): Promise<{ result: SideResult; footprint: Footprint | null }> {
  // What the one before left to be written shall not be on this one's account.
  await mongodb.db().admin().command({ fsync: 1 });
  const running = await side.start(round);
  try {
    const sights = await watch(running, await mongodProcess(mongodb), (total) => total >= events);
    const peak = await peakMebibytes(running.pid);
    await running.check(orders);
    const database = await running.database();
    const footprint = side.name === 'ours' && database !== null ? await footprintOf(database) : null;
    return {
      result: { name: side.name, ...phasesOf(sights, boundaries), peak_mib: rounded(peak, 0) },
      footprint,
    };
  } finally {
    await running.stop();
    await (await running.database())?.dropDatabase();
  }
}

function progressLine(round: number, { name, created, changed, all, peak_mib: peak }: SideResult): string {
  const words = ({ events_per_second: rate, writer_cpu: writer, mongod_cpu: mongod }: Pace) =>
    `${rate.toFixed(0)}/s (${writer.toFixed(3)} + ${mongod?.toFixed(3) ?? '–'} ms)`;
  return `round ${round + 1}, ${name}: created ${words(created)}, changed ${words(changed)}, in all ${words(all)}, peak ${peak} MiB`;
}

function resultOf(results: readonly SideResult[], name: Side['name']): SideResult {
  const found = results.find((result) => result.name === name);
  if (found === undefined) throw new Error(`${name} was not measured`);
  return found;
}

function medianOf(results: readonly SideResult[]): SideResult {
  const [first] = results;
  if (first === undefined) throw new Error('there was no round');
  const pace = (phase: keyof Phases): Pace => {
    const of = (figure: (pace: Pace) => number) => median(results.map((result) => figure(result[phase])));
    return {
      events_per_second: rounded(
        of((one) => one.events_per_second),
        0,
      ),
      writer_cpu: rounded(
        of((one) => one.writer_cpu),
        4,
      ),
      mongod_cpu:
        first[phase].mongod_cpu === null
          ? null
          : rounded(
              of((one) => one.mongod_cpu ?? Number.NaN),
              4,
            ),
    };
  };
  return {
    name: first.name,
    created: pace('created'),
    changed: pace('changed'),
    all: pace('all'),
    peak_mib: Math.max(...results.map(({ peak_mib: peak }) => peak)),
  };
}

function ratiosOf(
  measured: readonly SideResult[][],
  than: Side['name'],
): ProjectorBenchResult['ratios'][number] {
  const of = (phase: keyof Phases) =>
    measured.map(
      (results) =>
        resultOf(results, 'ours')[phase].events_per_second / resultOf(results, than)[phase].events_per_second,
    );
  return {
    than,
    created: rounded(median(of('created')), 2),
    changed: rounded(median(of('changed')), 2),
    all: rounded(median(of('all')), 2),
    rounds: of('all').map((ratio) => rounded(ratio, 2)),
  };
}
