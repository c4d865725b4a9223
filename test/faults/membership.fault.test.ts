import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServiceProcess } from '#test/service-process.ts';
import { startTrial, type Trial } from './trial.ts';

const ROUNDS = 4;

describe('three projectors that join and leave', () => {
  let trial: Trial;
  beforeAll(async () => {
    trial = await startTrial({ partitions: 6 });
  });
  afterAll(() => trial?.close());

  it('share the partitions, and every event is applied once whoever has them', async () => {
    const recoveriesMs: number[] = [];
    const members: ServiceProcess[] = [trial.start()];
    await trial.movesOn();
    const join = async () => {
      const joined = trial.start();
      await joined.logged(({ msg }) => msg === 'projector started');
      members.push(joined);
    };
    const leave = async (signal: 'SIGTERM' | 'SIGKILL') => {
      const left = members.shift();
      left?.kill(signal);
      const { code } = (await left?.ended) ?? {};
      if (signal === 'SIGTERM') expect(code).toBe(0);
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const change of [join, join, () => leave('SIGTERM'), () => leave('SIGKILL')]) {
        await change();
        recoveriesMs.push(await trial.movesOn());
        await sleep(Math.random() * 300);
      }
    }
    await trial.conclude([{ fault: 'three projectors join and leave', recoveriesMs, boundMs: 5_000 }]);
  });
});
