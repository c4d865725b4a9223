/** `npm run bench -- query`: a mixed load of many stores, compared with a usual implementation. */
import assert from 'node:assert/strict';
import { Option } from 'commander';
import type { Db } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import {
  type Bench,
  connectionsOption,
  grouped,
  numberOption,
  roundsOption,
  secondsOption,
  table,
} from '../frame.ts';
import type { BenchContext } from '../context.ts';
import { measureInTurn, type Round, type Side, type SideResult, summarize } from '../in-turn.ts';
import { startLoad } from '../load/load.ts';
import { median, rounded } from '../median.ts';
import { say } from '../say.ts';
import { type RunningService, serviceProgram } from '../service.ts';
import { usualWayDatabase } from '../usual-way/documents.ts';
import { type MixedRow, mixedRows } from './mix.ts';
import { setUp, type Setup } from './setup.ts';
import { mixedStores, orderRecord, storeOf, type StoreSize } from './stores.ts';

interface QueryOptions {
  records: number;
  connections: number;
  seconds: number;
  rounds: number;
  only?: string;
}

/** Ordinary clients send it. */
const ENCODING = { 'accept-encoding': 'gzip' };

interface RowResult {
  name: string;
  ours: SideResult;
  usual_way: SideResult;
  /** The median ratio of requests per second, ours divided by the usual one's. */
  ratio: number;
  /** The median ratio of processor time including MongoDB's, the usual one's divided by ours. */
  cpu_ratio: number;
  /** Our requests per second divided by those of `/health`. */
  of_health: number;
  round_ratios: number[];
}

const WARM_UP_SECONDS = 1;
/** The compared answers per row. */
const COMPARED = 12;
const WRITES_A_SECOND = 20;

async function run(context: BenchContext, options: QueryOptions): Promise<{ rows: RowResult[] }> {
  const { records, only = '' } = options;
  const stores = mixedStores(records);
  const wanted = mixedRows(stores).filter(({ name }) => name.includes(only));
  if (wanted.length === 0) throw new Error(`no request has “${only}” in its name`);
  const setup = await setUp(context, stores.map(storeOf));
  const { sides } = setup;
  const { installation, cleanup } = context;
  for (const row of wanted) await compareAnswers(row, setup);
  say('both sides answer the same');
  await context.start(await serviceProgram('projector'));
  const { pid: mongod } = (await installation.mongodb.db('admin').command({ serverStatus: 1 })) as {
    pid: number;
  };

  const load = startLoad(cleanup);
  const { connections, seconds } = options;
  const asked = { url: `${sides.ours.url}/health`, headers: {}, status: 200, connections, seconds };
  await load({ ...asked, seconds: WARM_UP_SECONDS });
  const { requests_per_second: health } = await load(asked);
  const rows: RowResult[] = [];
  for (const row of wanted) {
    const sideOf = async (service: RunningService) => ({
      ...(await sideFor(service, row, setup)),
      mongod,
    });
    const pair = { ours: await sideOf(sides.ours), other: await sideOf(sides.usualWay) };
    const stopWrites = row.isWritten ? writeOrders(installation, stores) : async () => undefined;
    const measured = await measureInTurn(load, pair, {
      ...options,
      warmUpSeconds: WARM_UP_SECONDS,
    });
    await stopWrites();
    const { other, ...result } = summarize(measured);
    const cpuRatio = rounded(median(measured.map(cpuRatioOf)), 2);
    const ofHealth = rounded(result.ours.requests_per_second / health, 2);
    const named = { name: row.name, of_health: ofHealth };
    rows.push({ ...named, usual_way: other, cpu_ratio: cpuRatio, ...result });
    const rates = `${grouped(result.ours.requests_per_second)} / ${grouped(other.requests_per_second)} req/s`;
    say(`${row.name}: ${rates}, ${result.ratio}×, processor ${cpuRatio}×`);
  }
  return { rows };
}

const costOf = ({ cpu_ms: own, mongodb_ms: mongodb }: SideResult) => own + mongodb;

function cpuRatioOf({ ours, other }: Round): number {
  return costOf(other) / costOf(ours);
}

/** The order for the load generator. */
async function sideFor(
  { url, pid }: RunningService,
  { requests, isPoll }: MixedRow,
  { tokens }: Setup,
): Promise<Side> {
  const headersOf = (storeId: string) => ({
    authorization: `Bearer ${tokens.get(storeId) ?? ''}`,
    ...ENCODING,
  });
  const sent = [];
  for (const { storeId, path } of requests) {
    const headers: Record<string, string> = headersOf(storeId);
    if (isPoll)
      headers['if-none-match'] =
        (await fetch(`${url}${path}`, { headers })).headers.get('etag') ?? '';
    sent.push({ path, headers });
  }
  return { pid, url, headers: {}, requests: sent, status: isPoll ? 304 : 200 };
}

/** @throws if the two sides give different answers. */
async function compareAnswers(
  { name, requests }: MixedRow,
  { sides, tokens }: Setup,
): Promise<void> {
  for (const { storeId, path } of requests.slice(0, COMPARED)) {
    const authorization = `Bearer ${tokens.get(storeId) ?? ''}`;
    const [ours = '', usualWay = ''] = await Promise.all(
      [sides.ours, sides.usualWay].map(async ({ url }) => {
        const answer = await fetch(`${url}${path}`, {
          headers: { authorization, ...ENCODING },
        });
        return answer.text();
      }),
    );
    assert.deepEqual(JSON.parse(ours), JSON.parse(usualWay), `${name}, ${storeId} ${path}`);
  }
}

/** Writes orders to both sides. @returns a function that stops. */
function writeOrders(
  installation: Installation,
  stores: readonly StoreSize[],
): () => Promise<void> {
  const db: Db = usualWayDatabase(installation.mongodb, installation.config.namePrefix);
  let sequence = Date.now();
  let written = Promise.resolve();
  const write = async () => {
    sequence += 1;
    const { storeId, orders, customers } = stores[sequence % stores.length] ?? {
      storeId: '',
      orders: 1,
      customers: 1,
    };
    const { id, state } = orderRecord(sequence % orders, customers);
    const now = new Date();
    const data = { ...state, updated_at: now.toISOString() };
    await installation.publish([{ entity: 'order', storeId, subject: id, sequence, data }]);
    await db
      .collection<{ _id: string }>(COLLECTIONS.order)
      .updateOne({ _id: `${storeId}/${id}` }, { $set: { updated_at: now } });
  };
  const timer = setInterval(() => {
    written = Promise.all([written, write()]).then(() => undefined);
  }, 1_000 / WRITES_A_SECOND);
  return async () => {
    clearInterval(timer);
    await written;
  };
}

const SIDE = ['req/s', 'p99 ms', 'cpu µs', 'MongoDB µs'];
const TITLES = [
  'request',
  ...SIDE,
  'usual: req/s',
  ...SIDE.slice(1),
  'ratio',
  'cpu ratio',
  'of /health',
];

function render({ rows }: { rows: readonly RowResult[] }): string {
  const behind = rows.filter(({ ratio, cpu_ratio: cpu }) => Math.min(ratio, cpu) < 1);
  const verdict =
    behind.length === 0
      ? 'Faster in every row.'
      : `Slower in ${behind.length} of ${rows.length} rows: ${behind.map(({ name }) => name).join('; ')}.`;
  return [table(TITLES, rows.map(cellsOf)), verdict].join('\n');
}

function cellsOf({ name, ours, usual_way: usualWay, ...row }: RowResult): string[] {
  const { ratio, cpu_ratio: cpu, of_health: health } = row;
  const figures = [ours, usualWay].flatMap((side) => [
    grouped(side.requests_per_second),
    side.p99_ms.toFixed(side.p99_ms < 100 ? 1 : 0),
    grouped(side.cpu_ms * 1_000),
    grouped(side.mongodb_ms * 1_000),
  ]);
  return [name, ...figures, `${ratio.toFixed(2)}×`, `${cpu.toFixed(2)}×`, health.toFixed(2)];
}

export const queryBench: Bench<QueryOptions, { rows: RowResult[] }> = {
  name: 'query',
  description:
    'Requests to twenty stores, compared with a usual implementation with Fastify and the driver.',
  options: [
    numberOption(
      'records',
      'orders of the largest store; the others have a twentieth and a two thousandth',
      200_000,
      2_000,
    ),
    connectionsOption(),
    secondsOption(3),
    roundsOption(3),
    new Option('--only <text>', 'only requests whose name contains this'),
  ],
  run,
  render,
};
