/**
 * `npm run test:mutations`: plants each fault of the list in a copy of the sources, and prints
 * whether the tests find it.
 */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { run } from '#test/run.ts';
import { succeeds } from '#test/succeeds.ts';
import { type Mutation, MUTATIONS } from './mutations.ts';

const [wanted = ''] = process.argv.slice(2);
const copy = await mkdtemp(join(tmpdir(), 'store-data-mutations-'));
let missed = 0;
try {
  await copySources();
  const all = new Set(MUTATIONS.flatMap(({ tests }) => tests));
  if (wanted === '' && (await fails([...all]))) throw new Error('the tests fail without any fault');
  for (const mutation of MUTATIONS.filter(({ fault }) => fault.includes(wanted))) {
    const began = performance.now();
    const isFound = await plant(mutation);
    if (!isFound) missed += 1;
    const seconds = Math.round((performance.now() - began) / 1_000);
    process.stdout.write(`${isFound ? 'found ' : 'MISSED'}  ${mutation.fault} (${seconds} s)\n`);
  }
} finally {
  await rm(copy, { recursive: true, force: true });
}
process.exitCode = missed === 0 ? 0 : 1;

async function copySources(): Promise<void> {
  const files = await run('git', ['ls-files', '-z']);
  for (const file of files.split('\0').filter(Boolean)) await cp(file, join(copy, file));
  await symlink(resolve('node_modules'), join(copy, 'node_modules'));
}

/** @returns whether a test fails. */
async function plant({ file, replace, by, tests }: Mutation): Promise<boolean> {
  const path = join(copy, file);
  const text = await readFile(path, 'utf8');
  await writeFile(
    path,
    text.replace(replace, () => by),
  );
  try {
    return await fails(tests);
  } finally {
    await writeFile(path, text);
  }
}

async function fails(tests: readonly string[]): Promise<boolean> {
  const args = ['vitest', 'run', '--bail', '1', '--retry', '0', ...tests];
  return !(await succeeds(run('npx', args, { cwd: copy })));
}
