/** `npm run bench -- query`: the mixed load of many stores beside the same work done the usual way. */
import type { Db } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { measureInTurn, type Round, type Side, type SideResult, summarize } from '../in-turn.ts';
import { startLoad } from '../load/load.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { median, rounded } from '../median.ts';
import { serviceProgram } from '../programs.ts';
import type { Say } from '../say.ts';
import type { RunningService } from '../service.ts';
import { grouped, measuredOn, table } from '../table.ts';
import { usualWayDatabase } from '../usual-way/documents.ts';
import { type MixedRow, mixedRows } from './mix.ts';
import { assertAlike } from './requests.ts';
import { setUp, type Setup } from './setup.ts';
import { orderRecord } from './stores/order.ts';
import { mixedStores, storeOf, type StoreSize } from './stores/stores.ts';

export interface QueryBenchOptions {
  /** Orders of the largest store. */
  records: number;
  /** At least one of these measures counts and pages at scale. */
  orders?: number;
  customers?: number;
  connections: number;
  seconds: number;
  rounds: number;
  only?: string;
  json?: true;
  writeDocs?: true;
}

const ENCODINGS = ['gzip', 'identity'] as const;

interface RowResult {
  name: string;
  encoding: (typeof ENCODINGS)[number];
  /** Medians of the rounds. */
  ours: SideResult;
  usual_way: SideResult;
  /** Median of the rounds' ratios of requests a second. */
  ratio: number;
  /** The same of processor time, of service and MongoDB together: the usual way's by ours. */
  cpu_ratio: number;
  round_ratios: number[];
}

export interface QueryBenchResult {
  benchmark: 'query';
  date: string;
  machine: Machine;
  /** What repeats it. */
  command: string;
  rows: RowResult[];
}

const WARM_UP_SECONDS = 1;
/** Of each row so many requests are compared. */
const COMPARED = 12;
const WRITES_A_SECOND = 20;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runQueryBench(
  options: QueryBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<QueryBenchResult> {
  const { records, only = '' } = options;
  const stores = mixedStores(records);
  const wanted = mixedRows(stores).filter(({ name }) => name.includes(only));
  if (wanted.length === 0) throw new Error(`no request has “${only}” in its name`);
  const setup = await setUp(stores.map(storeOf), say, cleanup);
  const { installation, sides, ground } = setup;
  for (const row of wanted) await compareAnswers(row, setup);
  say('both sides answer the same');
  await ground.start(await serviceProgram('projector'));
  const { pid: mongod } = (await installation.mongodb.db('admin').command({ serverStatus: 1 })) as {
    pid: number;
  };

  const load = startLoad(cleanup);
  const rows: RowResult[] = [];
  for (const row of wanted) {
    for (const encoding of ENCODINGS) {
      const sideOf = async (service: RunningService) => ({
        ...(await sideFor(service, row, encoding, setup)),
        mongod,
      });
      const pair = { ours: await sideOf(sides.ours), other: await sideOf(sides.usualWay) };
      const stopWrites = row.isWritten ? writeOrders(installation, stores) : async () => undefined;
      const measured = await measureInTurn(load, pair, { ...options, warmUpSeconds: WARM_UP_SECONDS });
      await stopWrites();
      const { other, ...result } = summarize(measured);
      const cpuRatio = rounded(median(measured.map(cpuRatioOf)), 2);
      rows.push({ name: row.name, encoding, usual_way: other, cpu_ratio: cpuRatio, ...result });
      const rates = `${grouped(result.ours.requests_per_second)} / ${grouped(other.requests_per_second)} req/s`;
      say(`${row.name}, ${encoding}: ${rates}, ${result.ratio}×, processor ${cpuRatio}×`);
    }
  }
  return {
    benchmark: 'query',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(installation.mongodb),
    command: commandOf(options),
    rows,
  };
}

const costOf = ({ cpu_ms: own, mongodb_ms: mongodb }: SideResult) => own + mongodb;

function cpuRatioOf({ ours, other }: Round): number {
  return costOf(other) / costOf(ours);
}

/** What the load generator sends to a side. */
async function sideFor(
  { url, pid }: RunningService,
  { requests, isPoll }: MixedRow,
  encoding: string,
  { tokens }: Setup,
): Promise<Side> {
  const headersOf = (storeId: string) => ({
    authorization: `Bearer ${tokens.get(storeId) ?? ''}`,
    'accept-encoding': encoding,
  });
  const sent = [];
  for (const { storeId, path } of requests) {
    const headers: Record<string, string> = headersOf(storeId);
    if (isPoll)
      headers['if-none-match'] = (await fetch(`${url}${path}`, { headers })).headers.get('etag') ?? '';
    sent.push({ path, headers });
  }
  return { pid, url, headers: {}, requests: sent, status: isPoll ? 304 : 200 };
}

/** @throws when the two sides answer a request of the row differently. */
async function compareAnswers({ name, requests }: MixedRow, { sides, tokens }: Setup): Promise<void> {
  for (const { storeId, path } of requests.slice(0, COMPARED)) {
    const authorization = `Bearer ${tokens.get(storeId) ?? ''}`;
    const [ours = '', usualWay = ''] = await Promise.all(
      [sides.ours, sides.usualWay].map(async ({ url }) => {
        const answer = await fetch(`${url}${path}`, {
          headers: { authorization, 'accept-encoding': 'gzip' },
        });
        return answer.text();
      }),
    );
    assertAlike(`${name}, ${storeId} ${path}`, ours, usualWay);
  }
}

/** Writes orders to both sides until it is stopped. */
function writeOrders(installation: Installation, stores: readonly StoreSize[]): () => Promise<void> {
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

/** What repeats a run. */
export function commandOf(options: QueryBenchOptions): string {
  const { orders, customers, records, connections, seconds, rounds, only } = options;
  const sizes = Object.entries({ orders, customers }).filter(([, size]) => size !== undefined);
  const what = sizes.length > 0 ? sizes : [['records', records]];
  const figures = [...what, ['connections', connections], ['seconds', seconds], ['rounds', rounds]];
  const words = figures.map(([name, value]) => `--${name} ${value}`);
  return ['npm run bench -- query', ...words, ...(only === undefined ? [] : [`--only '${only}'`])].join(' ');
}

const SIDE = ['req/s', 'p99 ms', 'cpu µs', 'MongoDB µs'];
const TITLES = ['request', 'encoding', ...SIDE, 'usual', ...SIDE.slice(1), 'req/s ratio', 'cpu ratio'];

/** The result in words and figures. */
export function renderQuery(result: QueryBenchResult): string {
  const { rows } = result;
  const behind = rows.filter(({ ratio, cpu_ratio: cpu }) => Math.min(ratio, cpu) < 1);
  const verdict =
    behind.length === 0
      ? 'Ahead in every row.'
      : `Behind in ${behind.length} of ${rows.length} rows: ${behind.map(({ name, encoding }) => `${name}, ${encoding}`).join('; ')}.`;
  return [measuredOn(result), table(TITLES, rows.map(cellsOf)), verdict].join('\n');
}

function cellsOf({ name, encoding, ours, usual_way: usualWay, ratio, cpu_ratio: cpu }: RowResult): string[] {
  const figures = [ours, usualWay].flatMap((side) => [
    grouped(side.requests_per_second),
    side.p99_ms.toFixed(side.p99_ms < 100 ? 1 : 0),
    grouped(side.cpu_ms * 1_000),
    grouped(side.mongodb_ms * 1_000),
  ]);
  return [name, encoding, ...figures, `${ratio.toFixed(2)}×`, `${cpu.toFixed(2)}×`];
}
