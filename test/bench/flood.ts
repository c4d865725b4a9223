/**
 * `npm run bench -- flood`: one store sends requests at a steady rate, alone and during each of
 * three floods from the same address.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { caughtUp } from '#test/read-models.ts';
import { times } from '#test/times.ts';
import { runProcess } from '../services/admin/run-command.ts';
import type { BenchContext } from './context.ts';
import { type Bench, numberOption, roundsOption, secondsOption, table } from './frame.ts';
import { type LoadOrder, startLoad } from './load/load.ts';
import { median, percentile, rounded } from './median.ts';
import { publishRecords } from './query/setup.ts';
import { orderRecord, storeRecord } from './query/stores.ts';
import { fetchTokens, publishKeys } from '#test/tokens.ts';
import { say } from './say.ts';
import { serviceProgram } from './service.ts';

interface FloodOptions {
  rate: number;
  connections: number;
  seconds: number;
  rounds: number;
}

const [CALM, FLOODING] = ['calm', 'flooding'];
const NO_FLOOD = 'none';
const QUOTA = ['--requests', '10', '--window', '1'];
const LIST = '/api/order/list';
const ORDERS = 1_000;
const FORGED = 1_000;

async function run(context: BenchContext, options: FloodOptions): Promise<string> {
  const { installation, start, cleanup } = context;
  const { env, environment } = installation;
  const keys = await publishKeys(installation, [CALM, FLOODING]);
  await start(serviceProgram('projector'));
  for (const storeId of [CALM, FLOODING]) {
    const orders = times(ORDERS, (index) => orderRecord(index, ORDERS));
    await publishRecords(installation, storeId, [storeRecord(storeId), ...orders]);
  }
  await caughtUp(installation, environment, 120_000);
  const set = await runProcess(env, ['quota', 'set', '-e', environment, '-s', FLOODING, ...QUOTA]);
  if (set.code !== 0) throw new Error(set.stderr);
  const { url } = await start(serviceProgram('query'));
  const tokens = await fetchTokens(url, keys);
  const kinds = Object.entries({
    [NO_FLOOD]: {},
    ...floods(tokens.get(FLOODING) ?? '', keys[1]?.clientId ?? ''),
  });
  const load = startLoad(cleanup);
  const headers = { authorization: `Bearer ${tokens.get(CALM)}` };
  const { seconds, connections } = options;
  const measure = async (flood: Partial<LoadOrder>) => {
    const flooding =
      flood.url === undefined
        ? { perSecond: 0 }
        : load({ headers: {}, connections, seconds, ...flood, url: url + flood.url });
    const outcomes = await askSteadily(url + LIST, headers, options);
    const answered = outcomes.flatMap(({ status, ms }) => (status === 200 ? ms : []));
    const { perSecond } = await flooding;
    const [p50_ms, p99_ms] = [percentile(answered, 0.5), percentile(answered, 0.99)];
    return { answered: answered.length, asked: outcomes.length, flood: perSecond, p50_ms, p99_ms };
  };
  await measure({});
  const rounds = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [name, flood] of kinds) {
      rounds.push({ name, ...(await measure(flood)) });
      say(`round ${round}: ${JSON.stringify(rounds.at(-1))}`);
    }
  }
  const ofKinds = Map.groupBy(rounds, ({ name }) => name);
  const rows = [...ofKinds].map(([name, measured]) => {
    const middle = (figure: 'p50_ms' | 'p99_ms' | 'flood', digits: number) =>
      String(rounded(median(measured.map((round) => round[figure])), digits));
    const sum = (figure: 'answered' | 'asked') =>
      measured.reduce((all, round) => all + round[figure], 0);
    return [
      name,
      name === NO_FLOOD ? '' : middle('flood', 0),
      `${rounded((100 * sum('answered')) / sum('asked'), 1)} %`,
      middle('p50_ms', 1),
      middle('p99_ms', 1),
    ];
  });
  return table(['flood', 'flood requests/s', 'calm store: answered 200', 'p50 ms', 'p99 ms'], rows);
}

/** Sends requests at fixed times, however long answers take; times count from the planned time. */
async function askSteadily(
  url: string,
  headers: Record<string, string>,
  { rate, seconds }: FloodOptions,
): Promise<{ status: number; ms: number }[]> {
  const began = performance.now();
  return Promise.all(
    times(rate * seconds, async (index) => {
      const due = began + (index * 1_000) / rate;
      await sleep(due - performance.now());
      const status = await fetch(url, { headers }).then(
        async (answer) => {
          await answer.text();
          return answer.status;
        },
        () => 0,
      );
      return { status, ms: performance.now() - due };
    }),
  );
}

function floods(token: string, clientId: string): Record<string, Partial<LoadOrder>> {
  const signed = token.slice(0, token.lastIndexOf('.') + 1);
  const random = () => randomBytes(64).toString('base64url');
  const many = (make: () => string) =>
    times(FORGED, () => ({ headers: { authorization: make() } }));
  return {
    'forged tokens': { url: LIST, requests: many(() => `Bearer ${signed}${random()}`) },
    'wrong secrets': {
      url: '/api/auth/token/',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
      requests: many(() => `Basic ${Buffer.from(`${clientId}:${random()}`).toString('base64')}`),
    },
    'a store beyond its quota': { url: LIST, headers: { authorization: `Bearer ${token}` } },
  };
}

export const floodBench: Bench<FloodOptions> = {
  name: 'flood',
  description:
    'A store’s order list, alone and during floods of forged tokens, wrong secrets, and a store beyond its quota.',
  options: [
    numberOption('rate', 'requests a second of the calm store', 50),
    numberOption(
      'connections',
      'connections of the flood; each sends its next request after an answer',
      100,
    ),
    secondsOption(5),
    roundsOption(),
  ],
  settings: { OVERLOAD_LATENCY_MS: '' },
  run,
};
