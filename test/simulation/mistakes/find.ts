/** Plants a mistake in a copy of the code, and runs the simulation there. */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runProcess } from '../../services/admin/run-command.ts';
import type { Mistake } from './mistakes.ts';

const COPIED = [
  'services',
  'shared',
  'deploy/testing',
  'test/simulation',
  'test/helpers',
  'package.json',
];
const FOUND = /^seed \d+, the first \d+ actions: ./;
const KEPT = /: every promise was kept$/;

/**
 * @param seconds of processor time.
 * @returns the report of the simulation; `null` if it did not find the mistake in time.
 * @throws if the copy does not run.
 */
export async function findMistake(
  { file, replace, by }: Pick<Mistake, 'file' | 'replace' | 'by'>,
  seconds: number,
  seed: number,
): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-mistake-'));
  try {
    for (const path of COPIED) await cp(path, join(folder, path), { recursive: true });
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    const code = await readFile(file, 'utf8');
    if (code.split(replace).length !== 2)
      throw new Error(`${file} does not have the text once: ${replace}`);
    await writeFile(
      join(folder, file),
      code.replace(replace, () => by),
    );
    const options = ['--seconds', String(seconds), '--from', String(seed), '--no-shrink'];
    const program = 'test/simulation/main.ts';
    const { stdout, stderr } = await runProcess({}, options, { cwd: folder, program });
    const last = stdout.trim().split('\n').at(-1) ?? '';
    if (FOUND.test(last)) return last;
    if (KEPT.test(last)) return null;
    throw new Error(`the simulation did not run: ${stderr}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
