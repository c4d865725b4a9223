/** Plants a mistake in a copy of the code, and lets the simulation look for it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Mistake } from './mistakes.ts';

const COPIED = ['services', 'shared', 'test/simulation', 'test/helpers', 'package.json'];

/** @returns what the simulation says once it has found it; `null` where it does not within the time. */
export async function findMistake(
  { file, replace, by }: Mistake,
  seconds: number,
  seed: number,
): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-mistake-'));
  try {
    for (const path of COPIED) await cp(path, join(folder, path), { recursive: true });
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    const code = await readFile(file, 'utf8');
    if (code.split(replace).length !== 2) throw new Error(`${file} does not have the text once: ${replace}`);
    await writeFile(
      join(folder, file),
      code.replace(replace, () => by),
    );
    const program = [
      'test/simulation/main.ts',
      '--seconds',
      String(seconds),
      '--from',
      String(seed),
      '--no-shrink',
    ];
    const child = spawn(process.execPath, program, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const [said, [status]] = await Promise.all([
      text(child.stdout),
      once(child, 'exit') as Promise<[number]>,
    ]);
    return status === 0 ? null : (said.trim().split('\n').at(-1) ?? '');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
