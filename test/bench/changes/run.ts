/** `npm run bench -- changes`: reading changes at any depth, and many waiting clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { type Bench, grouped, numberOption, roundsOption, secondsOption, table } from '../frame.ts';
import { agesInWords, liveStores } from '../freshness/stream.ts';
import type { BenchContext } from '../context.ts';
import { startLoad } from '../load/load.ts';
import { serviceProgram } from '../service.ts';
import { orderState } from '../projector/topic.ts';
import { customerRecord, fullName, instantAt } from '../query/stores.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import { say } from '../say.ts';
import { measurePages, type PageRow } from './pages.ts';
import { measureWaiting, type WaitingResult } from './waiting.ts';

interface ChangesOptions {
  records: number;
  waiters: number;
  stores: number;
  rate: number;
  seconds: number;
  rounds: number;
}

interface ChangesResult {
  pages: PageRow[];
  waiting: WaitingResult;
}

const LARGE = 'large';
/** A store with alternating kinds of records. */
const MIXED = 'mixed';
const MIXED_SHARE = 0.1;
/** Stores with new orders and a waiting client; each has its own partition. */
const LIVE_STORES = 5;
const FILL_LIMIT_MS = 900_000;
const CHUNK = 5_000;

async function run(context: BenchContext, options: ChangesOptions): Promise<ChangesResult> {
  const { installation, start, cleanup } = context;
  const quiet = Array.from({ length: options.stores }, (_, index) => `quiet-${index}`);
  const live = liveStores(LIVE_STORES);
  const keys = await publishKeys(installation, [
    LARGE,
    MIXED,
    ...quiet,
    ...live.map(({ storeId }) => storeId),
  ]);
  await start(await serviceProgram('projector'));
  await fill(installation, LARGE, options.records, orderAt);
  await fill(installation, MIXED, options.records * MIXED_SHARE, anythingAt);
  await caughtUp(installation, installation.environment, FILL_LIMIT_MS);
  say('filled');
  const query = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(query.url, keys);
  const tokenOf = (storeId: string) => tokens.get(storeId) ?? '';
  const [orders, mixed] = [LARGE, MIXED].map((storeId) => ({ storeId, token: tokenOf(storeId) }));
  if (orders === undefined || mixed === undefined) throw new RangeError('two stores are asked');
  const pages = await measurePages(
    installation,
    startLoad(cleanup),
    query,
    { orders, mixed },
    options,
  );
  say(pages.map(({ name, ratio }) => `${name}: ${ratio}×`).join(', '));
  await sleep(1_000);
  return {
    pages,
    waiting: await measureWaiting({ context, query, quiet, live, tokenOf }, options),
  };
}

function orderAt(number: number) {
  return { entity: 'order', data: orderState(number, 1) };
}

function anythingAt(number: number) {
  const at = { created_at: instantAt(1) };
  if (number % 4 === 0) return orderAt(number);
  if (number % 4 === 1) return { entity: 'customer', data: customerRecord(number).state };
  if (number % 4 === 2)
    return { entity: 'review', data: { rating: 5, comment: fullName(number), ...at } };
  return { entity: 'category', data: { name: fullName(number), position: 1, active: true } };
}

async function fill(
  { publish }: Installation,
  storeId: string,
  records: number,
  recordAt: (number: number) => { entity: string; data: object },
): Promise<void> {
  for (let first = 0; first < records; first += CHUNK) {
    const numbers = Array.from(
      { length: Math.min(CHUNK, records - first) },
      (_, index) => first + index,
    );
    await publish(
      numbers.map((number) => ({
        ...recordAt(number),
        storeId,
        subject: `r${number}`,
        sequence: 1,
      })),
    );
  }
}

function render({ pages, waiting, records, rate, stores }: ChangesResult & ChangesOptions): string {
  const { waiters, kibibytes_each: each, idle_cpu: idle, answers } = waiting;
  const titles = ['p50 ms', 'service ms', 'MongoDB ms'];
  return [
    table(
      [
        `a page of 100, of ${grouped(records)} orders`,
        ...titles,
        'compared with',
        ...titles,
        'cpu ratio',
      ],
      pages.map(({ name, ours, otherName, other, ratio }) => {
        const figures = [ours, other].map((side) =>
          [side.p50_ms, side.cpu_ms, side.mongodb_ms].map(String),
        );
        return [name, ...(figures[0] ?? []), otherName, ...(figures[1] ?? []), `${ratio}×`];
      }),
    ),
    `${grouped(waiters)} clients wait for ${grouped(stores)} stores: ${each} KiB of the query service’s memory each, ${Math.round(idle * 100)} % of a core in total.`,
    `At the same time five clients wait for five stores that have ${grouped(rate)} new orders a second together. From an event’s \`time\` to the end of the answer that has it: ${agesInWords(waiting)} (${grouped(waiting.events)} events in ${grouped(answers)} answers).`,
  ].join('\n');
}

export const changesBench: Bench<ChangesOptions, ChangesResult & ChangesOptions> = {
  name: 'changes',
  description: 'Pages of changes at any depth, and waiting clients.',
  options: [
    numberOption('records', 'orders of the large store', 200_000, 1_000),
    numberOption('waiters', 'clients that wait', 10_000),
    numberOption('stores', 'quiet stores of the waiting clients', 100),
    numberOption('rate', 'events a second for other waiting clients', 1_000),
    secondsOption(2),
    roundsOption(3),
  ],
  partitions: LIVE_STORES,
  run: async (context, options) => ({ ...options, ...(await run(context, options)) }),
  render,
};
