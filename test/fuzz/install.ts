/** Keeps schemathesis in the cache, outside the repository: every package in one fixed version, with its hash. */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
const PYTHON_TAG = 'import sys; print(sys.implementation.cache_tag)';

/** The folder with the packages, for `PYTHONPATH`; fetched if need be. */
export async function installSchemathesis(cache: string, log: (line: string) => void): Promise<string> {
  const tag = (await run('python3', ['-c', PYTHON_TAG])).stdout.trim();
  const pins = createHash('sha256')
    .update(await readFile(REQUIREMENTS))
    .digest('hex');
  // Compiled packages belong to one Python.
  const folder = join(cache, `schemathesis-${tag}-${pins.slice(0, 12)}`);
  if (await isThere(folder)) return folder;
  log('fetching schemathesis from PyPI');
  await mkdir(cache, { recursive: true });
  const staging = join(cache, `.fetching-schemathesis-${randomUUID()}`);
  try {
    await run('python3', pipArguments(staging), { maxBuffer: 16 * 1_048_576 });
    await rename(staging, folder);
  } catch (error) {
    // Another process may have been quicker.
    if (!(await isThere(folder))) throw error;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return folder;
}

function pipArguments(target: string): string[] {
  return [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--only-binary=:all:',
    '--require-hashes',
    `--target=${target}`,
    `--requirement=${REQUIREMENTS}`,
  ];
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
