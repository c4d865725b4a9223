/**
 * `npm run bench -- flood`: one store sends requests at a steady rate, alone and during each of
 * three floods from the same address.
 */
import { randomBytes } from 'node:crypto';
import { runProcess } from '../services/admin/run-command.ts';
import {
  type RequestOrder,
  httpRequest,
  percentilesOf,
  startLoadProcess,
} from './clients/start.ts';
import { type Bench, numberOption, roundsOption, secondsOption, table } from './frame.ts';
import { fillSmallStores, type BenchContext } from './context.ts';
import { median, rounded } from './median.ts';
import { serviceProgram } from './service.ts';
import { fetchTokens, publishKeys } from './query/tokens.ts';
import { say } from './say.ts';

interface FloodOptions {
  rate: number;
  connections: number;
  seconds: number;
  rounds: number;
}

/** The calm store's share of requests answered with 200, and medians of the rounds. */
interface Calm {
  name: string;
  answered_percent: number;
  p50_ms: number;
  p99_ms: number;
  flood_per_second: number;
}

const CALM = 'calm';
const FLOODING = 'flooding';
const QUOTA = ['--requests', '10', '--window', '1'];
const REQUEST = 'GET /api/order/list';
const FORGED = 1_000;
const CALM_CONNECTIONS = 50;

async function run(context: BenchContext, options: FloodOptions): Promise<{ rows: Calm[] }> {
  const { installation, start, cleanup } = context;
  const { env, environment } = installation;
  const keys = await publishKeys(installation, [CALM, FLOODING]);
  await start(await serviceProgram('projector'));
  await fillSmallStores(installation, [CALM, FLOODING]);
  const set = await runProcess(env, ['quota', 'set', '-e', environment, '-s', FLOODING, ...QUOTA]);
  if (set.code !== 0) throw new Error(set.stderr);
  const { url } = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(url, keys);
  const { seconds, connections, rate } = options;
  const port = Number(new URL(url).port);
  const authorization = `Bearer ${tokens.get(CALM)}`;
  const calm: RequestOrder = {
    port,
    requests: [httpRequest(REQUEST, { authorization })],
    connections: CALM_CONNECTIONS,
    seconds,
    phases: [{ perSecond: rate, seconds }],
  };
  const clientId = keys.find(({ storeId }) => storeId === FLOODING)?.clientId ?? '';
  const kinds = Object.entries({ none: [], ...floods(tokens.get(FLOODING) ?? '', clientId) });
  const [calmLoad, floodLoad] = [startLoadProcess(cleanup), startLoadProcess(cleanup)];
  const measure = async (requests: readonly string[]) => {
    const flooding =
      requests.length === 0 ? [] : floodLoad.ask({ port, requests, connections, seconds });
    const outcomes = await calmLoad.ask(calm);
    const good = outcomes.filter(({ status }) => status === 200);
    const flood = (await flooding).length / seconds;
    return { answered: good.length, asked: outcomes.length, flood, ...percentilesOf(good) };
  };
  await measure([]);
  const rounds = new Map<string, Awaited<ReturnType<typeof measure>>[]>(
    kinds.map(([name]) => [name, []]),
  );
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [name, requests] of kinds) {
      const measured = await measure(requests);
      rounds.get(name)?.push(measured);
      say(
        `round ${round}, ${name}: ${measured.answered} of ${measured.asked}, p99 ${measured.p99_ms} ms`,
      );
    }
  }
  const rows = [...rounds].map(([name, measured]) => {
    const middle = (figure: 'p50_ms' | 'p99_ms' | 'flood', digits: number) =>
      rounded(median(measured.map((round) => round[figure])), digits);
    const sum = (figure: 'answered' | 'asked') =>
      measured.reduce((all, round) => all + round[figure], 0);
    return {
      name,
      answered_percent: rounded((100 * sum('answered')) / sum('asked'), 1),
      p50_ms: middle('p50_ms', 1),
      p99_ms: middle('p99_ms', 1),
      flood_per_second: middle('flood', 0),
    };
  });
  return { rows };
}

function floods(token: string, clientId: string): Record<string, string[]> {
  const signed = token.slice(0, token.lastIndexOf('.') + 1);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const random = () => randomBytes(64).toString('base64url');
  const many = (make: () => string) => Array.from({ length: FORGED }, make);
  return {
    'forged tokens': many(() =>
      httpRequest(REQUEST, { authorization: `Bearer ${signed}${random()}` }),
    ),
    'wrong secrets': many(() => {
      const authorization = `Basic ${Buffer.from(`${clientId}:${random()}`).toString('base64')}`;
      const body = 'grant_type=client_credentials';
      return httpRequest('POST /api/auth/token/', { ...form, authorization }, body);
    }),
    'a store beyond its quota': [httpRequest(REQUEST, { authorization: `Bearer ${token}` })],
  };
}

export const floodBench: Bench<FloodOptions, { rows: Calm[] }> = {
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
    roundsOption(3),
  ],
  settings: { OVERLOAD_LATENCY_MS: '' },
  run,
  render: ({ rows }) =>
    table(
      ['flood', 'flood requests/s', 'calm store: answered 200', 'p50 ms', 'p99 ms'],
      rows.map((row) => [
        row.name,
        row.flood_per_second === 0 ? '' : String(row.flood_per_second),
        `${row.answered_percent} %`,
        String(row.p50_ms),
        String(row.p99_ms),
      ]),
    ),
};
