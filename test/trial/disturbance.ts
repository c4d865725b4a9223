/**
 * Randomly kills, kills inside a transaction, freezes and restarts projector processes, and lets
 * MongoDB hand over and shed load.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Chance, chanceOf } from '#local/simulator/random.ts';
import { KILL_IN_TRANSACTION } from '#test/killed-in-transaction.ts';
import type { Tally } from './tally.ts';
import type { MongodbFaults } from './mongodb-faults.ts';
import { startService, type ServiceProcess } from '#test/service-process.ts';

const PROGRAM = new URL('projector.ts', import.meta.url).pathname;

export class DisturbedProjectors {
  readonly #env: Record<string, string>;
  readonly #faults: Tally;
  readonly #mongodb: MongodbFaults | null;
  #projectors: ServiceProcess[] = [];
  /** Projectors that will die in a transaction. */
  #doomed = new Set<ServiceProcess>();

  /** @param mongodb `null` where MongoDB is shared with others. */
  constructor(env: Record<string, string>, faults: Tally, mongodb: MongodbFaults | null) {
    this.#env = env;
    this.#faults = faults;
    this.#mongodb = mongodb;
  }

  /** Starts projectors up to this number. */
  start(count: number, settings: Record<string, string> = {}): void {
    this.#projectors = this.#projectors.filter(({ process: { exitCode, signalCode } }) => {
      return exitCode === null && signalCode === null;
    });
    while (this.#projectors.length < count) {
      const projector = startService('projector', { ...this.#env, ...settings }, 'info', PROGRAM);
      this.#projectors.push(projector);
      if (KILL_IN_TRANSACTION in settings) this.#doomed.add(projector);
    }
  }

  /** Causes faults until the signal is aborted; then the remaining projectors run undisturbed. */
  async disturb(seed: number, round: number, over: AbortSignal): Promise<void> {
    for (let turn = 0; !over.aborted; turn += 1) {
      await this.#fault(chanceOf(seed, ['fault', round, turn]), over);
    }
    for (const projector of this.#doomed) projector.kill('SIGKILL');
    await Promise.all([...this.#doomed].map(({ ended }) => ended));
    this.#doomed.clear();
    this.start(2);
  }

  async #fault(chance: Chance, over: AbortSignal): Promise<void> {
    const victim = chance.helpers.arrayElement(this.#projectors);
    const kind = chance.helpers.weightedArrayElement([
      { weight: 3, value: 'kill' },
      { weight: 2, value: 'kill in a transaction' },
      { weight: 3, value: 'freeze' },
      { weight: 3, value: 'nothing' },
      // Only on servers of the trial's own.
      ...(this.#mongodb === null
        ? []
        : ([
            { weight: 2, value: 'step down' },
            { weight: 2, value: 'shed load' },
          ] as const)),
    ] as const);
    const wait = (most: number) =>
      sleep(chance.number.int({ min: 50, max: most }), undefined, { signal: over }).catch(
        () => undefined,
      );
    if (kind === 'kill') {
      this.#faults.kills += 1;
      victim.kill('SIGKILL');
    } else if (kind === 'kill in a transaction') {
      this.#faults.killsInTransactions += 1;
      victim.kill('SIGKILL');
      await victim.ended;
      const transaction = chance.number.int({ min: 1, max: 12 });
      this.start(2, { [KILL_IN_TRANSACTION]: String(transaction) });
    } else if (kind === 'freeze') {
      this.#faults.freezes += 1;
      victim.kill('SIGSTOP');
      await wait(5_000);
      victim.kill('SIGCONT');
    } else if (kind === 'step down') {
      this.#faults.stepDowns += 1;
      await this.#mongodb?.stepDown();
    } else if (kind === 'shed load') {
      this.#faults.overloads += 1;
      await this.#mongodb?.shedLoad(chance.number.int({ min: 50, max: 3_000 }));
    }
    await wait(3_000);
    this.start(2);
  }

  /** The last log lines, to find the cause of a difference. */
  lastLines(): string[] {
    return this.#projectors.flatMap(({ lines }) =>
      lines.slice(-15).map((line) => JSON.stringify(line)),
    );
  }

  async stop(): Promise<void> {
    for (const projector of this.#projectors) projector.kill('SIGKILL');
    await Promise.all(this.#projectors.map(({ ended }) => ended));
    this.#projectors = [];
  }
}
