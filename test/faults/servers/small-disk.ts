/** A small disk in memory that can be filled and emptied. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeError } from '#shared/errors.ts';

/** Mounts it. @returns the reason if that is not allowed. */
export function mountSmallDisk(mebibytes: number) {
  const path = mkdtempSync(join(tmpdir(), 'store-data-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path], {
      stdio: 'pipe',
    });
  } catch (error) {
    rmSync(path, { recursive: true, force: true });
    return `a small disk cannot be mounted here: ${describeError(error)}`;
  }
  const ballast = join(path, 'ballast');
  return {
    path,
    /** Fills the remaining space. */
    fill() {
      const file = openSync(ballast, 'a');
      const block = Buffer.alloc(65_536);
      try {
        for (;;) writeSync(file, block);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      } finally {
        closeSync(file);
      }
    },
    /** Frees the space that `fill` took. */
    empty: () => rmSync(ballast, { force: true }),
    close() {
      execFileSync('umount', ['-l', path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}
