/** One store asks steadily, alone and beside each of three floods from the same address, in turn. */
import { randomBytes } from 'node:crypto';
import { caughtUp } from '#test/read-models.ts';
import { runProcess } from '../../services/admin/run-command.ts';
import type { AskOrder } from '../clients/messages.ts';
import { httpRequest, percentile, percentilesOf, startAsker } from '../clients/start.ts';
import { layGround } from '../ground.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { median, rounded } from '../median.ts';
import { serviceProgram } from '../programs.ts';
import { orderRecord } from '../query/stores/order.ts';
import { storeRecord } from '../query/stores/store.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import type { Say } from '../say.ts';

export interface FloodOptions {
  /** Requests a second of the calm store. */
  rate: number;
  /** Connections of the flood; each asks again once it was answered. */
  connections: number;
  seconds: number;
  rounds: number;
}

export const FLOODS = ['forged tokens', 'wrong secrets', 'a store beyond its quota'] as const;
export type Flood = (typeof FLOODS)[number];

/** Of the calm store. The times are medians of the rounds. */
export interface Calm {
  /** The share of its requests that were answered with 200, in percent, of all rounds. */
  answered_percent: number;
  p50_ms: number;
  p99_ms: number;
}

export interface FloodResult extends FloodOptions {
  benchmark: 'flood';
  date: string;
  machine: Machine;
  alone: Calm;
  beside: Record<Flood, Calm & { flood_per_second: number }>;
}

const CALM = 'calm';
const FLOODING = 'flooding';
const QUOTA = ['--requests', '10', '--window', '1'];
const ORDERS = 1_000;
const REQUEST = 'GET /api/order/list';
const FORGED = 1_000;
const CALM_CONNECTIONS = 50;
const FILL_LIMIT_MS = 120_000;

interface Round {
  answered: number;
  asked: number;
  p50: number;
  p99: number;
  floodPerSecond: number;
}

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runFloodBench(
  options: FloodOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<FloodResult> {
  const { installation, start } = await layGround(say, cleanup, { OVERLOAD_LATENCY_MS: '' });
  const { env, environment, mongodb } = installation;
  const keys = await publishKeys(installation, [CALM, FLOODING]);
  await start(await serviceProgram('projector'));
  for (const storeId of [CALM, FLOODING]) {
    const records = [
      storeRecord(storeId),
      ...Array.from({ length: ORDERS }, (_, index) => orderRecord(index, ORDERS)),
    ];
    await installation.publish(
      records.map(({ entity, id, state }) => ({ entity, storeId, subject: id, sequence: 1, data: state })),
    );
  }
  await caughtUp(installation, environment, FILL_LIMIT_MS);
  const set = await runProcess(env, ['quota', 'set', '-e', environment, '-s', FLOODING, ...QUOTA]);
  if (set.code !== 0) throw new Error(set.stderr);
  const { url } = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(url, keys);
  const tokenOf = (store: string) => tokens.get(store) ?? '';
  const port = Number(new URL(url).port);
  const calm: AskOrder = {
    port,
    requests: [httpRequest(REQUEST, { authorization: `Bearer ${tokenOf(CALM)}` })],
    connections: CALM_CONNECTIONS,
    seconds: options.seconds,
    phases: [{ perSecond: options.rate, seconds: options.seconds }],
  };
  const requests = floodRequests(
    tokenOf(FLOODING),
    keys.find(({ storeId }) => storeId === FLOODING)?.clientId ?? '',
  );
  const [one, many] = [startAsker(cleanup), startAsker(cleanup)];
  const measure = async (flood: Flood | null): Promise<Round> => {
    const flooding =
      flood === null
        ? Promise.resolve([])
        : many.ask({
            port,
            requests: requests[flood],
            connections: options.connections,
            seconds: options.seconds,
          });
    const told = await one.ask(calm);
    const good = told.filter(({ status }) => status === 200);
    return {
      answered: good.length,
      asked: told.length,
      p50: percentilesOf(good).p50_ms,
      p99: percentile(good, 0.99),
      floodPerSecond: (await flooding).length / options.seconds,
    };
  };
  await measure(null);
  say('warmed up');
  const rounds = new Map<Flood | null, Round[]>();
  for (let round = 0; round < options.rounds; round += 1) {
    for (const flood of [null, ...FLOODS]) {
      const measured = await measure(flood);
      rounds.set(flood, [...(rounds.get(flood) ?? []), measured]);
      say(
        `round ${round + 1}, ${flood ?? 'alone'}: ${measured.answered} of ${measured.asked}, p99 ${measured.p99} ms`,
      );
    }
  }
  const beside = (flood: Flood) => {
    const measured = rounds.get(flood) ?? [];
    return {
      ...calmOf(measured),
      flood_per_second: Math.round(median(measured.map(({ floodPerSecond }) => floodPerSecond))),
    };
  };
  return {
    benchmark: 'flood',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(mongodb),
    ...options,
    alone: calmOf(rounds.get(null) ?? []),
    beside: {
      'forged tokens': beside('forged tokens'),
      'wrong secrets': beside('wrong secrets'),
      'a store beyond its quota': beside('a store beyond its quota'),
    },
  };
}

function floodRequests(token: string, clientId: string): Record<Flood, string[]> {
  const signed = token.slice(0, token.lastIndexOf('.') + 1);
  const body = 'grant_type=client_credentials';
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const random = () => randomBytes(64).toString('base64url');
  return {
    'forged tokens': Array.from({ length: FORGED }, () =>
      httpRequest(REQUEST, { authorization: `Bearer ${signed}${random()}` }),
    ),
    'wrong secrets': Array.from({ length: FORGED }, () => {
      const credentials = Buffer.from(`${clientId}:${random()}`).toString('base64');
      return httpRequest('POST /api/auth/token/', { ...form, authorization: `Basic ${credentials}` }, body);
    }),
    'a store beyond its quota': [httpRequest(REQUEST, { authorization: `Bearer ${token}` })],
  };
}

function calmOf(rounds: readonly Round[]): Calm {
  const sum = (of: (round: Round) => number) => rounds.reduce((all, round) => all + of(round), 0);
  return {
    answered_percent: rounded((100 * sum(({ answered }) => answered)) / sum(({ asked }) => asked), 1),
    p50_ms: rounded(median(rounds.map(({ p50 }) => p50)), 1),
    p99_ms: rounded(median(rounds.map(({ p99 }) => p99)), 1),
  };
}
