import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useFolder } from '#test/folder.ts';
import { useMade } from '#test/hooks.ts';
import { SESSION_TIMEOUT_MS, startTrial } from './trial.ts';

const HOUR = 3_600_000;
/** The successive offsets of the clock. */
const JUMPS = [HOUR, -HOUR, 48 * HOUR, 0, -48 * HOUR, 0];

describe('a projector whose clock jumps', () => {
  const folder = useFolder();
  const trial = useMade(() => startTrial());

  it('continues, and takes no partition from one with the right clock', async () => {
    const file = join(folder, 'ahead');
    await writeFile(file, '0');
    const preload = new URL('./clock/jumping-clock.ts', import.meta.url).href;
    const jumping = trial.start({ CLOCK_FILE: file, NODE_OPTIONS: `--import=${preload}` });
    const steady = trial.start();
    await Promise.all(
      [jumping, steady].map((one) => one.logged(({ msg }) => msg === 'partition is applied')),
    );
    const recoveriesMs: number[] = [];
    for (const ahead of JUMPS) {
      await writeFile(file, String(ahead));
      recoveriesMs.push(await trial.untilAdvanced());
      // Longer than the group waits for heartbeats.
      await sleep(2 * SESSION_TIMEOUT_MS);
      await trial.untilAdvanced();
    }
    expect(steady.lines.filter(({ msg }) => String(msg).startsWith('fenced'))).toEqual([]);
    await trial.conclude([
      { fault: 'clock jumps by an hour, by two days', recoveriesMs, boundMs: 5_000 },
    ]);
  });
});
