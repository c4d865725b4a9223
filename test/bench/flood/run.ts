/** One store asks steadily, alone and while another floods at ten times its quota, in turn. */
import { caughtUp } from '#test/read-models.ts';
import { runProcess } from '../../services/admin/run-command.ts';
import { layGround } from '../ground.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { median, rounded } from '../median.ts';
import { serviceProgram } from '../programs.ts';
import { orderRecord } from '../query/stores/order.ts';
import { storeRecord } from '../query/stores/store.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import type { Say } from '../say.ts';
import type { Visit } from './messages.ts';
import { startVisitor } from './visitors.ts';

export interface FloodOptions {
  /** Requests a second of the calm store. */
  rate: number;
  /** Requests a second that the flooding store may make. */
  quota: number;
  seconds: number;
  rounds: number;
}

interface Times {
  p50_ms: number;
  p99_ms: number;
}

export interface FloodResult extends FloodOptions {
  benchmark: 'flood';
  date: string;
  machine: Machine;
  /** Of the calm store, medians of the rounds. */
  alone: Times;
  flooded: Times;
  /** Median of the rounds' ratios of p99, flooded by alone. */
  ratio: number;
  /** Of each round: the machine's noise shows in how far they are apart. */
  round_ratios: number[];
  /** What the flooding store was answered. */
  statuses: Record<number, number>;
}

const STORES = ['calm', 'flooding'] as const;
const ORDERS = 1_000;
const PATH = '/api/order/list';
const TIMES_THE_QUOTA = 10;
const FILL_LIMIT_MS = 120_000;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runFloodBench(
  options: FloodOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<FloodResult> {
  const { installation, start } = await layGround(say, cleanup);
  const { env, environment, mongodb } = installation;
  const keys = await publishKeys(installation, STORES);
  await start(await serviceProgram('projector'));
  for (const storeId of STORES) {
    const records = [
      storeRecord(storeId),
      ...Array.from({ length: ORDERS }, (_, index) => orderRecord(index, ORDERS)),
    ];
    await installation.publish(
      records.map(({ entity, id, state }) => ({ entity, storeId, subject: id, sequence: 1, data: state })),
    );
  }
  await caughtUp(installation, environment, FILL_LIMIT_MS);
  const quota = ['--requests', String(options.quota), '--window', '1'];
  const set = await runProcess(env, ['quota', 'set', '-e', environment, '-s', 'flooding', ...quota]);
  if (set.code !== 0) throw new Error(set.stderr);
  const { url } = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(url, keys);
  const orderOf = (store: (typeof STORES)[number], rate: number) => {
    return { url: `${url}${PATH}`, token: tokens.get(store) ?? '', rate, seconds: options.seconds };
  };

  const [calm, flooding] = [startVisitor(cleanup), startVisitor(cleanup)];
  const visit = () => calm(orderOf('calm', options.rate));
  const flood = () => flooding(orderOf('flooding', options.quota * TIMES_THE_QUOTA));
  await Promise.all([visit(), flood()]);
  say('warmed up');
  const rounds: { alone: Times; flooded: Times }[] = [];
  const floods: Visit[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const alone = timesOf(await visit());
    const [visited, flooded] = await Promise.all([visit(), flood()]);
    rounds.push({ alone, flooded: timesOf(visited) });
    floods.push(flooded);
    say(`round ${round + 1}: p99 ${alone.p99_ms} ms, flooded ${timesOf(visited).p99_ms} ms`);
  }
  const ratios = rounds.map(({ alone, flooded }) => flooded.p99_ms / alone.p99_ms);
  return {
    benchmark: 'flood',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(mongodb),
    ...options,
    alone: medians(rounds.map(({ alone }) => alone)),
    flooded: medians(rounds.map(({ flooded }) => flooded)),
    ratio: rounded(median(ratios), 2),
    round_ratios: ratios.map((ratio) => rounded(ratio, 2)),
    statuses: statusesOf(floods),
  };
}

/** @throws when the calm store was refused anything. */
function timesOf({ milliseconds, statuses }: Visit): Times {
  if (Object.keys(statuses).join() !== '200') {
    throw new Error(`the calm store was answered ${JSON.stringify(statuses)}`);
  }
  const times = milliseconds.toSorted((a, b) => a - b);
  const percentile = (part: number) => rounded(times[Math.ceil(times.length * part) - 1] ?? Number.NaN, 2);
  return { p50_ms: percentile(0.5), p99_ms: percentile(0.99) };
}

function medians(rounds: readonly Times[]): Times {
  return {
    p50_ms: rounded(median(rounds.map(({ p50_ms: p50 }) => p50)), 2),
    p99_ms: rounded(median(rounds.map(({ p99_ms: p99 }) => p99)), 2),
  };
}

function statusesOf(visits: readonly Visit[]): Record<number, number> {
  const sum: Record<number, number> = {};
  for (const { statuses } of visits) {
    for (const [status, count] of Object.entries(statuses)) {
      sum[Number(status)] = (sum[Number(status)] ?? 0) + count;
    }
  }
  return sum;
}
