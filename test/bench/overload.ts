/**
 * `npm run bench -- overload`: the answers during and right after a load far above the capacity.
 */
import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { httpRequest, percentilesOf, startLoadProcess, type Outcome } from './clients/start.ts';
import { type Bench, numberOption, table } from './frame.ts';
import { fillSmallStores, type BenchContext, SMALL_STORE_ORDERS } from './context.ts';
import { percentile, rounded } from './median.ts';
import { cpuSeconds } from './process-figures.ts';
import { serviceProgram } from './service.ts';
import { fetchTokens, publishKeys } from './query/tokens.ts';
import { say } from './say.ts';

interface OverloadOptions {
  seconds: number;
  connections: number;
  times: number;
  cheap?: true;
}

/** Formatted figures by name. */
interface OverloadResult {
  figures: Record<string, string>;
}

const STORES = Array.from({ length: 10 }, (_, index) => `store${index}`);
const PEAK_CONNECTIONS = 64;
/** The time at half the peak after the overload. */
const AFTER_SECONDS = 3;
const BIN_MS = 100;
/** The response time of a healthy service. */
const NORMAL_MS = 100;

async function run(
  { installation, start, cleanup }: BenchContext,
  options: OverloadOptions,
): Promise<OverloadResult> {
  const keys = await publishKeys(installation, STORES);
  const projector = await start(await serviceProgram('projector'));
  await fillSmallStores(installation, STORES);
  await projector.stop();
  const service = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(service.url, keys);
  const load = startLoadProcess(cleanup);
  const { seconds, connections, times } = options;
  const requests = requestsOf([...tokens.values()], options.cheap === true ? [detailsOf] : MIX);
  const order = { port: Number(new URL(service.url).port), requests, seconds };

  const inTurn = { ...order, connections: PEAK_CONNECTIONS };
  await load.ask({ ...inTurn, seconds: seconds / 2 });
  const peak = (await load.ask(inTurn)).filter(({ status }) => status === 200).length / seconds;
  say(`peak: ${Math.round(peak)} answers a second`);
  const spent = async () =>
    Promise.all([cpuSeconds(service.pid), cpuSeconds(load.pid), listenOverflows()]);
  const before = await spent();
  const outcomes = await load.ask({
    ...order,
    connections,
    phases: [
      { perSecond: peak * times, seconds },
      { perSecond: peak / 2, seconds: AFTER_SECONDS },
    ],
  });
  const after = await spent();
  const cores = (index: 0 | 1) =>
    rounded((after[index] - before[index]) / (seconds + AFTER_SECONDS), 2);
  const endMs = seconds * 1_000;
  const during = outcomes.filter(({ due }) => due < endMs);
  const good = during.filter(({ status }) => status === 200);
  const refused = during.filter(({ status }) => status === 503);
  const lost = outcomes.filter(({ status }) => status !== 200 && status !== 503);
  const inWords = (some: readonly Outcome[]) => {
    const { p50_ms, p99_ms } = percentilesOf(some);
    return `p50 ${p50_ms} ms, p99 ${p99_ms} ms`;
  };
  const share = rounded(good.length / seconds / peak, 2);
  const figures = {
    'peak, each connection sends its next request after an answer': `${Math.round(peak)} a second`,
    [`load, ${times} times the peak`]: `${Math.round(peak * times)} a second`,
    'answered 200': `${Math.round(good.length / seconds)} a second: ${share} of the peak`,
    'response times of answers': inWords(good),
    'response times of refusals (503)': inWords(refused),
    'requests without an answer': String(lost.length),
    'overflows of the listen queue': String(after[2] - before[2]),
    'normal response times after the load fell to half the peak': `within ${normalAfter(outcomes, endMs)} ms`,
    'cores used': `service ${cores(0)}, clients ${cores(1)}`,
  };
  return { figures };
}

/** Overflows of listen queues on the whole machine; 0 in network namespaces without the counter. */
async function listenOverflows(): Promise<number> {
  const text = await readFile('/proc/net/netstat', 'utf8').catch(() => '');
  const [names = [], values = []] = text
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('ListenOverflows')] ?? 0);
}

type PathOf = (index: number) => string;

const detailsOf: PathOf = (index) =>
  `/api/order/details/?order_id=o${(index * 37) % SMALL_STORE_ORDERS}`;
/** Half of the requests are cheap, half need an index scan. */
const MIX: readonly PathOf[] = [
  detailsOf,
  () => '/api/order/list',
  (index) => `/api/order/list?page=${2 + (index % 40)}`,
  (index) => `/api/order/list?status=pending&page=${1 + (index % 2)}`,
];

/** Raw requests of all stores in turn. */
function requestsOf(tokens: readonly string[], paths: readonly PathOf[]): string[] {
  return Array.from({ length: 2_000 }, (_, index) => {
    const token = tokens[index % tokens.length];
    const path = paths[Math.floor(index / tokens.length) % paths.length]?.(index);
    return httpRequest(`GET ${path}`, { authorization: `Bearer ${token}` });
  });
}

/** The end of the last interval with a refusal or with a slow 90th percentile. */
function normalAfter(outcomes: readonly Outcome[], endMs: number): number {
  const after = outcomes.filter(({ due }) => due >= endMs);
  const bins = Map.groupBy(after, ({ due }) => Math.floor((due - endMs) / BIN_MS));
  const isSlow = (bin: readonly Outcome[]) =>
    percentile(
      bin.map(({ milliseconds: ms }) => ms),
      0.9,
    ) > NORMAL_MS;
  const notNormal = [...bins].filter(
    ([, bin]) => isSlow(bin) || bin.some(({ status }) => status !== 200),
  );
  return Math.max(0, ...notNormal.map(([index]) => (index + 1) * BIN_MS));
}

export const overloadBench: Bench<OverloadOptions, OverloadResult> = {
  name: 'overload',
  description: 'Three times the peak load at fixed times, and half the peak afterwards.',
  options: [
    numberOption('seconds', 'length of a phase', 10),
    numberOption('connections', 'maximum connections during the overload', 3_000),
    numberOption('times', 'the overload as a multiple of the peak', 3),
    new Option(
      '--cheap',
      'only order details, the cheapest answers: then refusals are most of the work',
    ),
  ],
  // Empty variables: the defaults of production.
  settings: { MONGODB_READ_TIMEOUT_MS: '', REDIS_COMMAND_TIMEOUT_MS: '', OVERLOAD_LATENCY_MS: '' },
  run,
  render: ({ figures }) => table(['measurement', 'result'], Object.entries(figures)),
};
