/** `npm run bench -- freshness`: from an event's `time` to the API's answer. */
import { loadavg } from 'node:os';
import type { Command } from 'commander';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { eventually, type Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { layGround } from '../ground.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { rounded } from '../median.ts';
import { addShowing, atLeast, secondsOption } from '../options.ts';
import { serviceProgram } from '../programs.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { type Say, say } from '../say.ts';
import { grouped, measuredOn, table } from '../table.ts';
import { holdBack, type LiveStore, publishSteadily, visit } from './stream.ts';

export interface FreshnessOptions {
  rate: number;
  seconds: number;
  backlog: number;
  every: number;
}

interface Ages {
  events: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

export interface FreshnessResult extends FreshnessOptions {
  benchmark: 'freshness';
  date: string;
  command: string;
  machine: Machine;
  load_average: number;
  calm: Ages;
  beside_backlog: Ages;
  /** How much of the backlog was applied while the stream went on. */
  backlog_applied: number;
}

const PARTITIONS = 6;
/** The last partition gets the backlog, and no stream. */
const LATE = { storeId: 'late', partition: PARTITIONS - 1 };
const WARM_UP_SECONDS = 3;
const SEEN_LIMIT_MS = 60_000;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runFreshnessBench(
  { rate, seconds, backlog, every }: FreshnessOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<FreshnessResult> {
  const { installation, start } = await layGround(say, cleanup, {}, { partitions: PARTITIONS });
  const load = loadavg()[0] ?? 0;
  const stores = Array.from({ length: PARTITIONS - 1 }, (_, partition): LiveStore => {
    return { storeId: `live-${partition}`, partition, waiting: new Map() };
  });
  const keys = await publishKeys(
    installation,
    stores.map(({ storeId }) => storeId),
  );
  await start(await serviceProgram('projector'));
  await eventually('there are read models', () =>
    readModels(installation).then(
      () => true,
      () => false,
    ),
  );
  await publishSteadily(installation, stores, { rate, seconds: WARM_UP_SECONDS });
  await caughtUp(installation);
  const { url } = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(url, keys);

  const measure = async (length: number, meanwhile: () => Promise<void> = () => Promise.resolve()) => {
    for (const { waiting } of stores) waiting.clear();
    const visits = stores.map((store) => visit(url, tokens.get(store.storeId) ?? '', store, every));
    try {
      await Promise.all([publishSteadily(installation, stores, { rate, seconds: length }), meanwhile()]);
      const allSeen = () => stores.every(({ waiting }) => waiting.size === 0);
      await eventually('the API shows every order', allSeen, SEEN_LIMIT_MS);
    } finally {
      await Promise.all(visits.map(({ stop }) => stop()));
    }
    return agesOf(visits.flatMap(({ ages }) => ages));
  };
  await measure(WARM_UP_SECONDS);
  const calm = await measure(seconds);
  say(`calm: p50 ${calm.p50_ms} ms, p99 ${calm.p99_ms} ms`);

  const letGo = await holdBack(installation, LATE, backlog);
  say(`${backlog} events held back`);
  const beside = await measure(seconds, letGo);
  const applied = await appliedOf(installation);
  say(`beside the backlog: p50 ${beside.p50_ms} ms, p99 ${beside.p99_ms} ms`);
  return {
    benchmark: 'freshness',
    date: new Date().toISOString().slice(0, 10),
    command: `npm run bench -- freshness --rate ${rate} --seconds ${seconds} --backlog ${backlog}`,
    machine: await describeMachine(installation.mongodb),
    load_average: rounded(load, 1),
    rate,
    seconds,
    backlog,
    every,
    calm,
    beside_backlog: beside,
    backlog_applied: applied,
  };
}

async function appliedOf(installation: Installation): Promise<number> {
  const db = await readModels(installation);
  const checkpoint = await db
    .collection<{ _id: string; position: number }>(CHECKPOINTS)
    .findOne({ _id: `${changesTopic(installation.environment)}/${LATE.partition}` });
  return checkpoint?.position ?? 0;
}

function agesOf(ages: readonly number[]): Ages {
  const sorted = ages.toSorted((a, b) => a - b);
  const percentile = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
  return {
    events: sorted.length,
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    max_ms: percentile(1),
  };
}

const TARGET_MS = 250;
const TITLES = ['stream', 'events', 'p50 ms', 'p99 ms', 'slowest ms', `p99 below ${TARGET_MS} ms`];

export function render(result: FreshnessResult): string {
  const { calm, beside_backlog: beside, backlog, backlog_applied: applied, every, rate } = result;
  const row = (name: string, ages: FreshnessResult['calm']) => [
    name,
    grouped(ages.events),
    ...[ages.p50_ms, ages.p99_ms, ages.max_ms].map(String),
    ages.p99_ms < TARGET_MS ? 'yes' : 'no',
  ];
  return [
    measuredOn(
      result,
      `; ${grouped(rate)} new orders a second; load average ${result.load_average} when it began`,
    ),
    table(TITLES, [row('calm', calm), row('beside a backlog', beside)]),
    `Five clients ask every ${every} ms, each for its store. The backlog of ${grouped(backlog)} orders on a sixth partition came at once with the second stream; when that stream had been seen, ${grouped(applied)} of them were applied.`,
  ].join('\n');
}

export function addFreshnessBench(program: Command): void {
  const command = program
    .command('freshness')
    .description('How long it takes from an event’s time until the API shows it.')
    .option('--rate <number>', 'new orders a second', atLeast(1), 1_000)
    .addOption(secondsOption(10))
    .option('--backlog <number>', 'events that wait on another partition', atLeast(1), 60_000)
    .option('--every <number>', 'milliseconds between a client’s requests', atLeast(1), 50);
  addShowing(command).action(async ({ json, writeDocs, ...options }: FreshnessOptions & Showing) => {
    await runAndPresent((cleanup) => runFreshnessBench(options, say, cleanup), {
      section: 'freshness',
      json,
      writeDocs,
      screen: render,
      markdown: render,
    });
  });
}
