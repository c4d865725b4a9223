import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LogLine, ServiceProcess } from '#test/service-process.ts';
import { Random } from '../../deploy/testing/random.ts';
import { SESSION_TIMEOUT_MS, startTrial, type Trial } from './trial.ts';

const PROJECTORS = 3;
const PARTITIONS = 6;
const FAULTS = 36;
/** From one fault to the next; whoever starts or wakes up alone has so long to get something done. */
const BETWEEN_MS = { least: 1_000, most: 3_000 };
/** Processes that do nothing but take the processor from the projectors. */
const BUSY_LOOPS = 2;

describe('projectors that are killed and frozen again and again on a busy machine', () => {
  let trial: Trial;
  const loops: ChildProcess[] = [];
  beforeAll(async () => {
    trial = await startTrial({
      partitions: PARTITIONS,
      eventsPerSecond: 200,
      settings: { PROJECTOR_SLICE_EVENTS: '1500' },
    });
  });
  afterAll(async () => {
    for (const loop of loops) loop.kill('SIGKILL');
    await trial?.close();
  });

  it('apply something of every partition again and again, each event once', async () => {
    const random = new Random(20);
    const started: ServiceProcess[] = [];
    /** Those that are awake and have partitions, or soon will. */
    const awake: ServiceProcess[] = [];
    const add = () => {
      const service = trial.start();
      started.push(service);
      void service
        .logged(({ msg }) => msg === 'projector started')
        .then(
          () => awake.push(service),
          () => undefined,
        );
    };
    for (let count = 0; count < PROJECTORS; count += 1) add();
    await trial.movesOn();
    for (let count = 0; count < BUSY_LOOPS; count += 1) {
      loops.push(spawn(process.execPath, ['-e', 'for (;;);']));
    }

    const over = new AbortController();
    const faultsAt: number[] = [];
    const moving = watchMoves(trial, over.signal);
    for (let fault = 0; fault < FAULTS; fault += 1) {
      while (awake.length === 0) await sleep(50);
      await sleep(BETWEEN_MS.least + random.next() * (BETWEEN_MS.most - BETWEEN_MS.least));
      const [victim] = awake.splice(random.below(awake.length), 1);
      faultsAt.push(performance.now());
      if (victim === undefined) throw new Error('one is awake');
      if (fault % 2 === 0) {
        victim.kill('SIGKILL');
        add();
      } else {
        void freeze(victim).then(() => awake.push(victim));
      }
    }
    await trial.movesOn();
    over.abort();
    const moves = await moving;
    for (const loop of loops) loop.kill('SIGKILL');

    const lines = started.flatMap((service) => service.lines).filter(isFirstSlice);
    expect(lines.length).toBeGreaterThan(FAULTS);
    await trial.conclude([
      {
        fault: 'kills and freezes: assignment to the first slice',
        recoveriesMs: lines.map((line) => Number(line['sinceAssignmentMs'])),
        boundMs: 20_000,
      },
      {
        fault: 'kills and freezes: fault to each next move',
        recoveriesMs: nextMoves(moves, faultsAt),
        boundMs: 60_000,
      },
      {
        fault: '... longest standstill of each partition',
        recoveriesMs: standstills(moves),
        boundMs: 60_000,
      },
    ]);
  });
});

/** Stops a process for longer than its session lasts. */
async function freeze(service: ServiceProcess): Promise<void> {
  service.kill('SIGSTOP');
  await sleep(2 * SESSION_TIMEOUT_MS);
  service.kill('SIGCONT');
}

function isFirstSlice({ msg, topic }: LogLine): boolean {
  return msg === 'partition is applied' && String(topic).startsWith('store-changes.');
}

/** When the checkpoint of each partition was seen to move. */
async function watchMoves(trial: Trial, over: AbortSignal): Promise<number[][]> {
  const moves = Array.from({ length: PARTITIONS }, (): number[] => []);
  let before = await trial.positions();
  while (!over.aborted) {
    const positions = await trial.positions().catch(() => before);
    const now = performance.now();
    for (const [partition, at] of moves.entries()) {
      if ((positions[partition] ?? 0) > (before[partition] ?? 0)) at.push(now);
    }
    before = positions;
    await sleep(50);
  }
  return moves;
}

/** How long each partition took to move after each fault, as far as it was seen to. */
function nextMoves(moves: readonly number[][], faultsAt: readonly number[]): number[] {
  return faultsAt.flatMap((fault) =>
    moves.map((at) => (at.find((move) => move > fault) ?? Infinity) - fault).filter(Number.isFinite),
  );
}

/** The longest standstill of each partition. */
function standstills(moves: readonly number[][]): number[] {
  return moves.map((at) => Math.max(...at.map((move, index) => move - (at[index - 1] ?? at[0] ?? move))));
}
