import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useFolder } from '#test/folder.ts';
import { useMade } from '#test/hooks.ts';
import { SESSION_TIMEOUT_MS, startTrial } from './trial.ts';

const HOUR = 3_600_000;
/** How far the clock is ahead, one after the other. */
const JUMPS = [HOUR, -HOUR, 48 * HOUR, 0, -48 * HOUR, 0];

describe('a projector whose clock jumps', () => {
  const folder = useFolder();
  const trial = useMade(() => startTrial());

  it('continues, or starts again where it was set back, and takes nothing from another one whose clock is right', async () => {
    const file = join(folder, 'ahead');
    await writeFile(file, '0');
    const preload = new URL('./clock/jumping-clock.ts', import.meta.url).href;
    const startJumping = () => trial.start({ CLOCK_FILE: file, NODE_OPTIONS: `--import=${preload}` });
    let jumping = startJumping();
    const steady = trial.start();
    await Promise.all([jumping, steady].map((one) => one.logged(({ msg }) => msg === 'partition is applied')));
    const recoveriesMs: number[] = [];
    let before = 0;
    for (const ahead of JUMPS) {
      await writeFile(file, String(ahead));
      if (ahead < before) {
        // Without heartbeats it would fight with the other one for its partitions: it ends, and is started again.
        expect((await jumping.ended).code).toBe(1);
        jumping = startJumping();
        // Before that it would not know of the next jump.
        await jumping.logged(({ msg }) => msg === 'projector started');
      }
      recoveriesMs.push(await trial.movesOn());
      // Long enough for the group to miss heartbeats.
      await sleep(2 * SESSION_TIMEOUT_MS);
      await trial.movesOn();
      before = ahead;
    }
    expect(steady.lines.filter(({ msg }) => String(msg).startsWith('fenced'))).toEqual([]);
    await trial.conclude([{ fault: 'clock jumps by an hour, by two days', recoveriesMs, boundMs: 5_000 }]);
  });
});
