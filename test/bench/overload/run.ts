/** What the service answers when far more is asked than it can answer, and right after. */
import { readFile } from 'node:fs/promises';
import { caughtUp } from '#test/read-models.ts';
import { layGround } from '../ground.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { rounded } from '../median.ts';
import { cpuSeconds } from '../process-figures.ts';
import { serviceProgram } from '../programs.ts';
import { orderRecord } from '../query/stores/order.ts';
import { storeRecord } from '../query/stores/store.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import type { Say } from '../say.ts';
import type { Told } from '../clients/messages.ts';
import { httpRequest, type Percentiles, percentile, percentilesOf, startAsker } from '../clients/start.ts';

export interface OverloadOptions {
  /** Seconds of each phase. */
  seconds: number;
  /** Connections of those who ask too much. */
  connections: number;
  /** How many times the peak is asked. */
  times: number;
  /** Only details, the cheapest answers: refusing is the most of the work then. */
  cheap?: true | undefined;
}

export interface OverloadResult extends OverloadOptions {
  benchmark: 'overload';
  date: string;
  machine: Machine;
  /** Good answers a second where each connection asks once it was answered. */
  peak_rate: number;
  asked_rate: number;
  /** The seconds of processor time that a second of the overload took, of the service and of those who ask. */
  service_cores: number;
  asker_cores: number;
  good_rate: number;
  /** Of the peak. */
  good_share: number;
  good: Percentiles;
  refused: Percentiles;
  /** Neither answered nor refused. */
  lost: number;
  /** Times that a connection found the listen queue full, of the whole machine: its client tries again after a second. */
  overflows: number;
  /** How long after the overload the last tenth of a second was in which anything was refused, or one in ten answers late. */
  normal_after_ms: number;
}

const ORDERS = 1_000;
const STORES = Array.from({ length: 10 }, (_, index) => `store${index}`);
const FILL_LIMIT_MS = 120_000;
const PEAK_CONNECTIONS = 64;
/** After the overload half the peak is asked. */
const AFTER_SECONDS = 3;
const BIN_MS = 100;
/** What a service that is well answers in. */
const NORMAL_MS = 100;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runOverloadBench(
  options: OverloadOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<OverloadResult> {
  // As in production: those that an empty variable stands for.
  const settings = { MONGODB_READ_TIMEOUT_MS: '', REDIS_COMMAND_TIMEOUT_MS: '', OVERLOAD_LATENCY_MS: '' };
  const { installation, start } = await layGround(say, cleanup, settings);
  const keys = await publishKeys(installation, STORES);
  const projector = await start(await serviceProgram('projector'));
  for (const storeId of STORES) {
    const records = [
      storeRecord(storeId),
      ...Array.from({ length: ORDERS }, (_, index) => orderRecord(index, ORDERS)),
    ];
    await installation.publish(
      records.map(({ entity, id, state }) => ({ entity, storeId, subject: id, sequence: 1, data: state })),
    );
  }
  await caughtUp(installation, installation.environment, FILL_LIMIT_MS);
  await projector.stop();
  const service = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(service.url, keys);
  const requests = requestsOf([...tokens.values()], options.cheap === true ? [detailsOf] : MIX);
  const asker = startAsker(cleanup);
  const order = { port: Number(new URL(service.url).port), requests, seconds: options.seconds };

  const inTurn = { ...order, connections: PEAK_CONNECTIONS };
  await asker.ask({ ...inTurn, seconds: options.seconds / 2 });
  say('warmed up');
  const peak = (await asker.ask(inTurn)).filter(({ status }) => status === 200).length / options.seconds;
  say(`peak: ${Math.round(peak)} answers a second`);
  const rate = peak * options.times;
  const cpu = async () => Promise.all([cpuSeconds(service.pid), cpuSeconds(asker.pid)]);
  const before = await cpu();
  const overflowsBefore = await listenOverflows();
  const told = await asker.ask({
    ...order,
    connections: options.connections,
    phases: [
      { perSecond: rate, seconds: options.seconds },
      { perSecond: peak / 2, seconds: AFTER_SECONDS },
    ],
  });
  const after = await cpu();
  const cores = (index: 0 | 1) =>
    rounded((after[index] - before[index]) / (options.seconds + AFTER_SECONDS), 2);
  return {
    benchmark: 'overload',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(installation.mongodb),
    ...options,
    peak_rate: Math.round(peak),
    asked_rate: Math.round(rate),
    service_cores: cores(0),
    asker_cores: cores(1),
    ...figuresOf(told, options.seconds, peak),
    overflows: (await listenOverflows()) - overflowsBefore,
  };
}

/** The kernel's counter; of network name spaces that have none, 0. */
async function listenOverflows(): Promise<number> {
  const text = await readFile('/proc/net/netstat', 'utf8').catch(() => '');
  const [names = [], values = []] = text
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('ListenOverflows')] ?? 0);
}

type PathOf = (index: number) => string;

const detailsOf: PathOf = (index) => `/api/order/details/?order_id=o${(index * 37) % ORDERS}`;
/** Half is cheap, half has to be looked for. */
const MIX: readonly PathOf[] = [
  detailsOf,
  () => '/api/order/list',
  (index) => `/api/order/list?page=${2 + (index % 40)}`,
  (index) => `/api/order/list?status=pending&page=${1 + (index % 2)}`,
];

/** Requests of all stores in turn, as they are sent. */
function requestsOf(tokens: readonly string[], paths: readonly PathOf[]): string[] {
  return Array.from({ length: 2_000 }, (_, index) => {
    const token = tokens[index % tokens.length];
    const path = paths[Math.floor(index / tokens.length) % paths.length]?.(index);
    return httpRequest(`GET ${path}`, { authorization: `Bearer ${token}` });
  });
}

function figuresOf(told: readonly Told[], seconds: number, peak: number) {
  const endMs = seconds * 1_000;
  const during = told.filter(({ due }) => due < endMs);
  const good = during.filter(({ status }) => status === 200);
  const refused = during.filter(({ status }) => status === 503);
  return {
    good_rate: Math.round(good.length / seconds),
    good_share: rounded(good.length / seconds / peak, 2),
    good: percentilesOf(good),
    refused: percentilesOf(refused),
    lost: told.filter(({ status }) => status !== 200 && status !== 503).length,
    normal_after_ms: normalAfter(
      told.filter(({ due }) => due >= endMs).map((one) => ({ ...one, due: one.due - endMs })),
    ),
  };
}

/** The end of the last bin that is not normal. */
function normalAfter(told: readonly Told[]): number {
  const bins = Map.groupBy(told, ({ due }) => Math.floor(due / BIN_MS));
  const notNormal = [...bins].filter(
    ([, bin]) => bin.some(({ status }) => status !== 200) || percentile(bin, 0.9) > NORMAL_MS,
  );
  return Math.max(0, ...notNormal.map(([index]) => (index + 1) * BIN_MS));
}
