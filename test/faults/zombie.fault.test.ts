import { afterAll, beforeAll, describe, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { SESSION_TIMEOUT_MS, startTrial, type Trial } from './trial.ts';

const FREEZES = 6;

describe('a projector that is frozen for longer than its session lasts', () => {
  let trial: Trial;
  beforeAll(async () => {
    trial = await startTrial();
  });
  afterAll(() => trial?.close());

  it('changes nothing when it comes back, and its successor goes on meanwhile', async () => {
    const recoveriesMs: number[] = [];
    const pair = [trial.start(), trial.start()] as const;
    await trial.movesOn();
    for (let freeze = 0; freeze < FREEZES; freeze += 1) {
      const frozen = pair[freeze % 2 === 0 ? 0 : 1];
      await sleep(Math.random() * 500);
      frozen.kill('SIGSTOP');
      recoveriesMs.push(await trial.movesOn());
      // The other one has all partitions now: the zombie wakes with a batch in its hands that is not its own.
      await sleep(SESSION_TIMEOUT_MS);
      frozen.kill('SIGCONT');
      await trial.movesOn();
    }
    await trial.conclude([{ fault: 'projector frozen, then resumed', recoveriesMs, boundMs: 5_000 }]);
  });
});
