/** `npm run bench -- changes`: following changes, at any depth, by many who wait, and beside the usual way. */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { layGround, QUOTA } from '../ground.ts';
import { customerRecord, fullName, instantAt } from '../query/stores/record.ts';
import type { SideResult } from '../in-turn.ts';
import { startLoad } from '../load/load.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { rounded } from '../median.ts';
import { addShowing, atLeast, roundsOption, secondsOption } from '../options.ts';
import { serviceProgram } from '../programs.ts';
import { orderState } from '../projector/topic.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { type Say, say } from '../say.ts';
import { grouped, measuredOn, table } from '../table.ts';
import { missByFollowing, type Missed } from './missed.ts';
import { type CopyResult, measureCopy } from './copy.ts';
import { measurePages, type PagesResult } from './pages.ts';
import { measureWaiting, type WaitingResult } from './waiting.ts';

export interface ChangesOptions {
  records: number;
  waiters: number;
  stores: number;
  rate: number;
  connections: number;
  seconds: number;
  rounds: number;
}

export interface ChangesResult extends ChangesOptions {
  benchmark: 'changes';
  date: string;
  command: string;
  machine: Machine;
  /** Before it began: other programs on the machine. */
  load_average: number;
  pages: PagesResult;
  copy: CopyResult;
  waiting: WaitingResult;
  missed: Missed;
}

const LARGE = 'large';
const ADVERSE = 'adverse';
/** A store whose records of several kinds come in turn. */
const MIXED = 'mixed';
const MIXED_SHARE = 0.1;
/** Stores whose orders come while somebody waits for them; each has a partition of its own. */
const LIVE_STORES = 5;
const FILL_LIMIT_MS = 900_000;
const CHUNK = 5_000;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runChangesBench(
  options: ChangesOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<ChangesResult> {
  const load = loadavg()[0] ?? 0;
  const { installation, start } = await layGround(say, cleanup, {}, { partitions: LIVE_STORES });
  const quiet = Array.from({ length: options.stores }, (_, index) => `quiet-${index}`);
  const live = Array.from({ length: LIVE_STORES }, (_, partition) => ({
    storeId: `live-${partition}`,
    partition,
    waiting: new Map<string, number>(),
  }));
  const keys = await publishKeys(installation, [
    LARGE,
    MIXED,
    ADVERSE,
    ...quiet,
    ...live.map(({ storeId }) => storeId),
  ]);
  await start(await serviceProgram('projector'));
  await fill(installation, options.records);
  await fillMixed(installation, options.records * MIXED_SHARE);
  await caughtUp(installation, installation.environment, FILL_LIMIT_MS);
  say('filled');
  const query = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(query.url, keys);
  const tokenOf = (storeId: string) => tokens.get(storeId) ?? '';

  const pages = await measurePages(
    {
      installation,
      load: startLoad(cleanup),
      query,
      token: tokenOf(LARGE),
      storeId: LARGE,
      mixed: { storeId: MIXED, token: tokenOf(MIXED) },
    },
    options,
  );
  say(`pages: ${pages.depths.map(({ share, ratio }) => `${share * 100} %: ${ratio}×`).join(', ')}`);
  say(pages.feeds.map(({ name, ratio }) => `${name}: ${ratio}×`).join(', '));
  const tokensOfCopy = { token: tokenOf(LARGE), neighbour: tokenOf(MIXED) };
  const copy = await measureCopy(query, tokensOfCopy, options, cleanup);
  say(`copied in ${copy.seconds} s; the neighbour's p99: ${copy.neighbour.ratio}×`);
  await sleep(1_000);
  const waiting = await measureWaiting({ installation, query, quiet, live, tokenOf, say, cleanup }, options);
  const missed = await missByFollowing(installation, query.url, {
    storeId: ADVERSE,
    token: tokenOf(ADVERSE),
  });
  const { records, waiters, stores, rate, connections, seconds, rounds } = options;
  return {
    benchmark: 'changes',
    date: new Date().toISOString().slice(0, 10),
    command: `npm run bench -- changes --records ${records} --waiters ${waiters} --stores ${stores} --rate ${rate} --connections ${connections} --seconds ${seconds} --rounds ${rounds}`,
    machine: await describeMachine(installation.mongodb),
    load_average: rounded(load, 1),
    ...options,
    pages,
    copy,
    waiting,
    missed,
  };
}

/** Records of four kinds in turn. */
async function fillMixed({ publish }: Installation, records: number): Promise<void> {
  const at = { created_at: instantAt(1) };
  for (let first = 0; first < records; first += CHUNK) {
    const length = Math.min(CHUNK, records - first);
    await publish(
      Array.from({ length }, (_, index) => {
        const number = first + index;
        const common = { storeId: MIXED, subject: `r${number}`, sequence: 1 };
        if (number % 4 === 0) return { ...common, entity: 'order', data: orderState(number, 1) };
        if (number % 4 === 1) return { ...common, entity: 'customer', data: customerRecord(number).state };
        if (number % 4 === 2)
          return { ...common, entity: 'review', data: { rating: 5, comment: fullName(number), ...at } };
        return { ...common, entity: 'category', data: { name: fullName(number), position: 1, active: true } };
      }),
    );
  }
}

async function fill({ publish }: Installation, records: number): Promise<void> {
  for (let first = 0; first < records; first += CHUNK) {
    const length = Math.min(CHUNK, records - first);
    await publish(
      Array.from({ length }, (_, index) => ({
        entity: 'order',
        storeId: LARGE,
        subject: `o${first + index}`,
        sequence: 1,
        data: orderState(first + index, 1),
      })),
    );
  }
}

export function render(result: ChangesResult): string {
  const { records, rate, stores, pages, copy, waiting, missed } = result;
  const row = (name: string, side: SideResult, ratio: string) => [
    name,
    ...[side.requests_per_second, side.p50_ms, side.p99_ms, side.cpu_ms].map(String),
    ratio,
  ];
  const misses = (name: string, { missing, stale, undeleted }: ChangesResult['missed']['feed']) => [
    name,
    ...[missing, stale, undeleted].map(String),
  ];
  const titles = [
    `a page of 100, of ${grouped(records)} orders`,
    'req/s',
    'p50 ms',
    'p99 ms',
    'processor ms',
    'beside',
  ];
  const after = `after ${grouped(missed.changes)} changes of ${missed.records} orders, ${missed.deletions} deletions`;
  return [
    measuredOn(result, `; load average before ${result.load_average}`),
    table(titles, [
      row('the list’s first', pages.list, ''),
      row('the first of changes', pages.first, `${pages.ratio}× the list’s requests a second`),
      ...pages.depths.map(({ share, result: side, ratio }) =>
        row(`changes at ${share * 100} %`, side, `${ratio}× the first’s p50`),
      ),
    ]),
    table(
      [
        'a page from the middle of the store',
        'p50 ms',
        'processor ms',
        'beside',
        'p50 ms',
        'processor ms',
        'processor',
      ],
      pages.feeds.map(({ name, result: side, other, ratio }) => [
        name,
        ...[side.p50_ms, side.cpu_ms].map(String),
        'summaries of orders',
        ...[other.p50_ms, other.cpu_ms].map(String),
        `${ratio}×`,
      ]),
    ),
    `A first copy by one client, whole records in pages of 1,000 (the quota raised to ${grouped(QUOTA)}): ${grouped(copy.records)} records, ${grouped(copy.mebibytes)} MiB in ${copy.seconds} s, ${copy.cpu_ms} ms of the query service’s processor for a page, whose memory was ${copy.resident_mib} MiB before and ${copy.peak_mib} MiB at most. The p99 of a neighbour’s lists, asked by two connections: ${copy.neighbour.alone_p99_ms} ms alone, ${copy.neighbour.beside_p99_ms} ms beside it, ${copy.neighbour.ratio}×.`,
    '',
    `${grouped(waiting.waiters)} clients wait for ${grouped(stores)} stores: ${waiting.kibibytes_each} KiB of the query service’s memory each, ${Math.round(waiting.idle_cpu * 100)} % of a core for all of them.`,
    `Beside them five clients wait for five stores that have ${grouped(rate)} new orders a second together. From an event’s \`time\` to the end of the answer that tells it: p50 ${waiting.p50_ms} ms, p99 ${waiting.p99_ms} ms, slowest ${waiting.max_ms} ms (${grouped(waiting.events)} events in ${grouped(waiting.answers)} answers).`,
    '',
    table(
      [after, 'missing', 'stale', 'not deleted'],
      [
        misses('`changes` with `wait`', missed.feed),
        misses('`find({updated_at: {$gt}})` every second', missed.usual),
      ],
    ),
  ].join('\n');
}

export function addChangesBench(program: Command): void {
  const command = program
    .command('changes')
    .description('Changes at any depth, clients that wait for them, and what the usual way misses.')
    .option('--records <number>', 'orders of the large store', atLeast(1_000), 1_000_000)
    .option('--waiters <number>', 'clients that wait', atLeast(1), 10_000)
    .option('--stores <number>', 'quiet stores for which they wait', atLeast(1), 500)
    .option('--rate <number>', 'events a second while some wait', atLeast(1), 1_000)
    .option('--connections <number>', 'connections that ask for pages at the same time', atLeast(1), 20)
    .addOption(secondsOption(5))
    .addOption(roundsOption(5, 'of each kind of page, taken in turn'));
  addShowing(command).action(async ({ json, writeDocs, ...options }: ChangesOptions & Showing) => {
    await runAndPresent((cleanup) => runChangesBench(options, say, cleanup), {
      section: 'changes',
      json,
      writeDocs,
      screen: render,
      markdown: render,
    });
  });
}
