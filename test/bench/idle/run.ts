/** What both services take from a machine while there are no events and no requests. */
import { setTimeout as sleep } from 'node:timers/promises';
import { layGround } from '../ground.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { rounded } from '../median.ts';
import { cpuSeconds, wakeUps } from '../process-figures.ts';
import { serviceProgram } from '../programs.ts';
import type { Say } from '../say.ts';
import type { RunningService } from '../service.ts';

export interface IdleOptions {
  /** Length of the measurement. */
  seconds: number;
}

export interface IdleResult extends IdleOptions {
  benchmark: 'idle';
  date: string;
  machine: Machine;
  environments: number;
  /** Of each environment's topic of changes, as of its topic of access. */
  partitions: number;
  services: { name: string; percent: number; wakeUps: number }[];
}

/** As in an installation that was made with the defaults. */
const ENVIRONMENTS = 2;
const PARTITIONS = 6;
/** What is set up after a start, and compiled in the first two minutes, is no part of being idle. */
const SETTLING_MS = 120_000;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runIdleBench(
  { seconds }: IdleOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<IdleResult> {
  const usual = {
    MONGODB_READ_TIMEOUT_MS: '',
    REDIS_COMMAND_TIMEOUT_MS: '',
    OVERLOAD_LATENCY_MS: '',
    KAFKA_SESSION_TIMEOUT_MS: '',
  };
  const topics = { environments: ENVIRONMENTS, partitions: PARTITIONS };
  const { installation, start } = await layGround(say, cleanup, usual, topics);
  const names = ['projector', 'query'] as const;
  const services: RunningService[] = [];
  for (const name of names) services.push(await start(await serviceProgram(name)));
  say('both run: waiting until all is set up');
  await sleep(SETTLING_MS);
  const look = () =>
    Promise.all(
      services.map(async ({ pid }) => ({
        seconds: await cpuSeconds(pid),
        wakeUps: await wakeUps(pid),
        at: performance.now(),
      })),
    );
  const before = await look();
  await sleep(seconds * 1_000);
  const after = await look();
  return {
    benchmark: 'idle',
    date: new Date().toISOString().slice(0, 10),
    machine: await describeMachine(installation.mongodb),
    seconds,
    environments: ENVIRONMENTS,
    partitions: PARTITIONS,
    services: names.map((name, index) => {
      const [from, to] = [before[index], after[index]];
      if (from === undefined || to === undefined) throw new Error(`${name} was not measured`);
      const elapsed = (to.at - from.at) / 1_000;
      return {
        name,
        percent: rounded(((to.seconds - from.seconds) / elapsed) * 100, 2),
        wakeUps: rounded((to.wakeUps - from.wakeUps) / elapsed, 0),
      };
    }),
  };
}
