import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { backUp, restore } from '#test/backup.ts';
import { readModels } from '#test/read-models.ts';
import { startTrial } from './trial.ts';

const RESTORES = 4;

describe('a MongoDB that is restored from an older backup while projectors run', () => {
  const trial = useMade(() => startTrial({ eventsPerSecond: 50 }));

  it('gets the lost events again, while new ones arrive', async () => {
    const recoveriesMs: number[] = [];
    trial.start();
    await trial.untilAdvanced();
    trial.start();
    await trial.untilAdvanced();
    const db = await readModels(trial.installation, trial.disturbed);
    for (let count = 0; count < RESTORES; count += 1) {
      const backup = await backUp(db);
      await sleep(1_000 + Math.random() * 2_000);
      await trial.untilAdvanced();
      // The restoring transaction would conflict with slices forever: no projector owns a partition
      // meanwhile.
      await db.collection(CHECKPOINTS).updateMany({}, { $set: { owner: 'nobody' } });
      await restore(db, backup);
      recoveriesMs.push(await trial.untilAdvanced());
    }
    await trial.conclude([
      { fault: 'MongoDB restored beneath projectors', recoveriesMs, boundMs: 20_000 },
    ]);
  });
});
