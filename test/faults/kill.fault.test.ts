import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { startTrial } from './trial.ts';

/** Half at a random instant, half between a transaction's last write and its commit. */
const KILLS = 50;

describe('a projector that is killed and started again', () => {
  const trial = useMade(() => startTrial({ eventsPerSecond: 100 }));

  it(
    `applies every event once through ${KILLS} kills, and is back within three seconds`,
    { timeout: 600_000 },
    async () => {
      const recoveriesMs: number[] = [];
      let service = trial.start();
      await trial.untilAdvanced();
      for (let kill = 0; kill < KILLS; kill += 2) {
        await sleep(Math.random() * 400);
        service.kill('SIGKILL');
        expect(await service.ended).toEqual({ code: null, signal: 'SIGKILL' });
        // This process kills itself, usually after every partition was applied again.
        service = trial.startKilled(1 + Math.floor(Math.random() * 60));
        const recovery = await Promise.race([trial.untilAdvanced(), service.ended]);
        if (typeof recovery === 'number') recoveriesMs.push(recovery);
        expect(await service.ended).toEqual({ code: null, signal: 'SIGKILL' });
        service = trial.start();
        recoveriesMs.push(await trial.untilAdvanced());
      }
      await trial.conclude([{ fault: 'projector killed', recoveriesMs, boundMs: 3_000 }]);
    },
  );
});
