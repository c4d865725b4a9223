/**
 * Randomly kills, kills inside a transaction, freezes and restarts projector processes, and lets
 * MongoDB hand over and shed load.
 */
import { type Chance, chanceOf } from '#local/simulator/random.ts';
import { pause } from '#shared/waiting.ts';
import { KILL_IN_TRANSACTION } from '#test/killed-in-transaction.ts';
import { killAll, lastLines, type ServiceProcess, startService } from '#test/service-process.ts';
import type { MongodbFaults } from './mongodb-faults.ts';
import type { Tally } from './tally.ts';

const PROGRAM = new URL('projector.ts', import.meta.url).pathname;

type Fault = [weight: number, counted: keyof Tally | null, cause: () => unknown];

/**
 * Starts two projectors.
 * @param mongodb `null` where MongoDB is shared with others.
 */
export function startDisturbed(
  env: Record<string, string>,
  tally: Tally,
  mongodb: MongodbFaults | null,
) {
  let projectors: ServiceProcess[] = [];
  /** Projectors that will die in a transaction. */
  const doomed: ServiceProcess[] = [];
  /** Replaces those that have ended. */
  const restart = (settings: Record<string, string> = {}) => {
    projectors = projectors.filter(({ process: { exitCode, signalCode } }) => {
      return exitCode === null && signalCode === null;
    });
    while (projectors.length < 2) {
      const projector = startService('projector', { ...env, ...settings }, 'info', PROGRAM);
      projectors.push(projector);
      if (KILL_IN_TRANSACTION in settings) doomed.push(projector);
    }
  };
  restart();

  const cause = async (chance: Chance, over: AbortSignal) => {
    const victim = chance.helpers.arrayElement(projectors);
    const wait = (max: number) => pause(chance.number.int({ min: 50, max }), over);
    const killed = async () => {
      await killAll([victim]);
      restart({ [KILL_IN_TRANSACTION]: String(chance.number.int({ min: 1, max: 12 })) });
    };
    const frozen = async () => {
      victim.kill('SIGSTOP');
      await wait(5_000);
      victim.kill('SIGCONT');
    };
    const faults: Fault[] = [
      [3, 'kills', () => victim.kill('SIGKILL')],
      [2, 'killsInTransactions', killed],
      [3, 'freezes', frozen],
      [3, null, () => undefined],
    ];
    if (mongodb !== null) {
      faults.push([2, 'stepDowns', mongodb.stepDown]);
      faults.push([
        2,
        'overloads',
        () => mongodb.shedLoad(chance.number.int({ min: 50, max: 3_000 })),
      ]);
    }
    const weighted = faults.map((value) => ({ weight: value[0], value }));
    const [, counted, act] = chance.helpers.weightedArrayElement(weighted);
    if (counted !== null) tally[counted] += 1;
    await act();
    await wait(3_000);
    restart();
  };
  return {
    /** Causes faults until the signal is aborted; then the remaining projectors run undisturbed. */
    async disturb(seed: number, round: number, over: AbortSignal): Promise<void> {
      for (let turn = 0; !over.aborted; turn += 1)
        await cause(chanceOf(seed, ['fault', round, turn]), over);
      await killAll(doomed.splice(0));
      restart();
    },
    /** The last log lines, to find the cause of a difference. */
    lastLines: () => lastLines(projectors),
    stop: () => killAll(projectors),
  };
}
