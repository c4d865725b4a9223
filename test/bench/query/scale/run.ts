/** From nothing to a result at scale: deep stores and shallow ones on both sides, then one comparison after the other. */
import { measureInTurn, rateRatio, type Round, type Side, summarize } from '../../in-turn.ts';
import { type Load, startLoad } from '../../load/load.ts';
import type { TimedLoad } from '../../load/messages.ts';
import { describeMachine, type Machine } from '../../machine.ts';
import { rounded } from '../../median.ts';
import { peakMebibytes } from '../../process-figures.ts';
import type { Say } from '../../say.ts';
import { grouped, measuredOn, table } from '../../table.ts';
import { prepare } from '../requests.ts';
import { commandOf, type QueryBenchOptions } from '../run.ts';
import { type Setup, setUp } from '../setup.ts';
import { type MiddleOf, type Row, scaleRows, type Target } from './rows.ts';
import { contentOf, neighbourStores, scaleStores } from './stores.ts';

interface ScaleRowResult {
  name: string;
  path: string;
  against: string;
  connections: number;
  /** Medians of the rounds. */
  ours: TimedLoad;
  other: TimedLoad;
  /** Median of the rounds' ratios: how many times as fast as the other; with a target `atMost` how many times as slow. */
  ratio: number;
  round_ratios: number[];
  target: Target | null;
  /** What our 95th percentile must stay below. */
  p95_target_ms: number | null;
  /** `null` where there is no target. */
  is_met: boolean | null;
}

export interface ScaleResult {
  benchmark: 'query at scale';
  date: string;
  machine: Machine;
  /** What repeats it. */
  command: string;
  rows: ScaleRowResult[];
  /** Of the query process, at its peak. */
  peak_mib: number;
}

/** Requests that were proven to be answered alike. */
interface PreparedRow {
  row: Row;
  ours: Side;
  other: Side;
}

const WARM_UP_SECONDS = 1;
const PAGE_SIZE = 20;
const MAX_MIB = 190;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runScaleBench(
  options: QueryBenchOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<ScaleResult> {
  const { orders = 0, customers = 0, only = '' } = options;
  const stores = scaleStores({ orders, customers });
  const neighbours = neighbourStores({ orders, customers });
  const content = [...stores, ...neighbours].map((store, index) => contentOf(store, index === 0));
  const setup = await setUp(content, say, cleanup);
  const { installation, sides, tokens } = setup;
  const all = await scaleRows(stores, neighbours, middlePages(sides.ours.url, tokens));
  const rows = all.filter(({ name }) => name.includes(only));
  if (rows.length === 0) throw new Error(`no row has “${only}” in its name`);
  const prepared = [];
  for (const row of rows) prepared.push(await prepareRow(row, setup));
  say('both sides answer the same');

  const load = startLoad(cleanup);
  const results: ScaleRowResult[] = [];
  for (const each of prepared) {
    const result = await compare(load, each, options);
    const { name, against, ours, other } = result;
    say(`${name}, against ${against}: ${ours.p50_ms} / ${other.p50_ms} ms, ${figureOf(result)}`);
    results.push(result);
  }
  return {
    benchmark: 'query at scale',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(installation.mongodb),
    command: commandOf(options),
    rows: results,
    peak_mib: rounded(await peakMebibytes(sides.ours.pid), 1),
  };
}

/** Finds the page in the middle of what a list answers. @param url of the side that says how many records match. */
function middlePages(url: string, tokens: ReadonlyMap<string, string>): MiddleOf {
  return async (storeId, path) => {
    const headers = { authorization: `Bearer ${tokens.get(storeId) ?? ''}` };
    const response = await fetch(`${url}${path}`, { headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status} ${text.slice(0, 300)}`);
    const { count } = JSON.parse(text) as { count: number };
    const page = Math.max(1, Math.ceil(count / PAGE_SIZE / 2));
    return `${path}${path.includes('?') ? '&' : '?'}page=${page}`;
  };
}

/** @throws when the two sides answer a request of the row differently. */
async function prepareRow(row: Row, { sides, tokens }: Setup): Promise<PreparedRow> {
  const { ours, usualWay } = await prepare(row.request, sides, tokens);
  const { against } = row;
  const other = against.side === 'ours' ? (await prepare(against.request, sides, tokens)).ours : usualWay;
  return { row, ours, other };
}

/** Measures what a row compares in turn, so that what the machine does besides befalls both. */
async function compare(
  load: Load,
  { row, ours, other }: PreparedRow,
  { connections: many, seconds, rounds }: QueryBenchOptions,
): Promise<ScaleRowResult> {
  const connections = row.figure === 'latency' ? 1 : many;
  const options = { connections, seconds, rounds, warmUpSeconds: WARM_UP_SECONDS };
  const measured = await measureInTurn(load, { ours, other }, options);
  const isCost = row.target !== null && 'atMost' in row.target;
  const ratioOf = (round: Round) => {
    const faster = row.figure === 'latency' ? round.other.p50_ms / round.ours.p50_ms : rateRatio(round);
    return isCost ? 1 / faster : faster;
  };
  const result = {
    name: row.name,
    path: row.request.path,
    against: row.against.name,
    connections,
    ...summarize(measured, ratioOf),
    target: row.target,
    p95_target_ms: row.p95Ms,
  };
  return { ...result, is_met: isMet(result) };
}

function isMet({ ratio, target, ours, p95_target_ms: p95 }: Omit<ScaleRowResult, 'is_met'>): boolean | null {
  if (target === null) return null;
  const isRatioMet = 'atLeast' in target ? ratio >= target.atLeast : ratio <= target.atMost;
  return isRatioMet && (p95 === null || ours.p95_ms < p95);
}

const TITLES = ['work', 'compared with', 'ours', 'our p95', 'theirs', 'result', 'target', 'met'];

/** The result in words and figures. */
export function renderScale(result: ScaleResult): string {
  const memory = `The query service held at most ${result.peak_mib} MiB; its target is ${MAX_MIB} MiB.`;
  return [measuredOn(result), table(TITLES, result.rows.map(cellsOf)), memory].join('\n');
}

function cellsOf(row: ScaleRowResult): string[] {
  const { target, is_met: met, p95_target_ms: p95, connections } = row;
  const times = ({ p50_ms: p50, requests_per_second: rate }: TimedLoad) =>
    connections === 1 ? `${p50.toPrecision(3)} ms` : `${grouped(rate)}/s`;
  const limit = target && ('atLeast' in target ? `at least ${target.atLeast}×` : `at most ${target.atMost}×`);
  return [
    row.name,
    row.against,
    times(row.ours),
    `${row.ours.p95_ms.toPrecision(3)} ms`,
    times(row.other),
    figureOf(row),
    limit === null ? '–' : `${limit}${p95 === null ? '' : `, p95 below ${p95} ms`}`,
    met === null ? '–' : met ? 'yes' : 'no',
  ];
}

function figureOf({ ratio, target }: ScaleRowResult): string {
  const times = `${ratio < 10 ? ratio.toFixed(2) : grouped(ratio)}×`;
  return target !== null && 'atMost' in target ? `${times} the time` : `${times} as fast`;
}
