/** `npm run bench -- query`: the data endpoints beside the same work done the usual way. */
import { measureInTurn, type SideResult, summarize } from '../in-turn.ts';
import { startLoad } from '../load/load.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { median } from '../median.ts';
import type { Say } from '../say.ts';
import { grouped, measuredOn, table } from '../table.ts';
import { benchRequests, prepare } from './requests.ts';
import { setUp } from './setup.ts';
import { makeStores } from './stores/stores.ts';

export interface QueryBenchOptions {
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

interface RowResult {
  name: string;
  path: string;
  poll: boolean;
  /** Of a full answer. */
  body_bytes: number;
  /** Medians of the rounds. */
  ours: SideResult;
  usual_way: SideResult;
  /** Median of the rounds' ratios of requests a second. */
  ratio: number;
  /** Of each round: the machine's noise shows in how far they are apart. */
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

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runQueryBench(
  options: QueryBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<QueryBenchResult> {
  const { records, only = '' } = options;
  const requests = benchRequests(records).filter(({ name }) => name.includes(only));
  if (requests.length === 0) throw new Error(`no request has “${only}” in its name`);
  const { installation, sides, tokens } = await setUp(makeStores(records), say, cleanup);
  const prepared = [];
  for (const request of requests) prepared.push(await prepare(request, sides, tokens));
  say('both sides answer the same');

  const load = startLoad(cleanup);
  const rows: RowResult[] = [];
  for (const { request, bodyBytes, ours: one, usualWay } of prepared) {
    const measured = await measureInTurn(
      load,
      { ours: one, other: usualWay },
      { ...options, warmUpSeconds: WARM_UP_SECONDS },
    );
    const { other, ...result } = summarize(measured);
    const { name, path, poll } = request;
    rows.push({ name, path, poll, body_bytes: bodyBytes, usual_way: other, ...result });
    const rates = `${grouped(result.ours.requests_per_second)} / ${grouped(other.requests_per_second)} req/s`;
    say(`${name}: ${rates}, ${result.ratio.toFixed(2)}×`);
  }
  return {
    benchmark: 'query',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(installation.mongodb),
    command: commandOf(options),
    rows,
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

const TITLES = ['request', 'KiB', 'req/s', 'p50 ms', 'p99 ms', 'usual', 'p50 ms', 'p99 ms', 'ratio'];

/** The result in words and figures. */
export function renderQuery(result: QueryBenchResult): string {
  const { rows } = result;
  const behind = rows.filter(({ ratio }) => ratio < 1);
  const ratios = rows.map(({ ratio }) => ratio);
  const span = `${Math.min(...ratios).toFixed(2)}× to ${Math.max(...ratios).toFixed(2)}×`;
  const verdict =
    behind.length === 0
      ? `Ahead in every row: ${span}, median ${median(ratios).toFixed(2)}×.`
      : `Behind in ${behind.length} of ${rows.length} rows: ${behind.map(({ name }) => name).join('; ')}.`;
  return [measuredOn(result), table(TITLES, rows.map(cellsOf)), verdict].join('\n');
}

function cellsOf({ name, poll, body_bytes: bytes, ours, usual_way: usualWay, ratio }: RowResult): string[] {
  const figures = [ours, usualWay].flatMap(({ requests_per_second: rate, p50_ms: p50, p99_ms: p99 }) => [
    grouped(rate),
    ...[p50, p99].map((time) => time.toFixed(time < 100 ? 1 : 0)),
  ]);
  return [name, poll ? '0' : (bytes / 1_024).toFixed(1), ...figures, `${ratio.toFixed(2)}×`];
}
