/** Caches Python packages for tests outside the repository, with pinned versions and hashes. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keptFolder } from './made-once.ts';
import { run } from './run.ts';
import { words } from './words.ts';

const PYTHON_TAG = 'import sys; print(sys.implementation.cache_tag)';

/** A set of packages and its requirements file. */
export interface PythonPackages {
  /** The cache folder's name, also for messages. */
  name: string;
  /** A requirements file with hashes, made by pip-compile. */
  requirements: string;
}

/**
 * Downloads the packages if missing.
 * @returns their folder, for `PYTHONPATH`. Rejects with pip's output.
 */
export async function installPythonPackages(
  { name, requirements }: PythonPackages,
  cache: string,
  log: (line: string) => void,
): Promise<string> {
  const tag = (await run('python3', ['-c', PYTHON_TAG])).trim();
  const pins = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex');
  // Compiled packages work with one Python version.
  const folder = join(cache, `${name}-${tag}-${pins.slice(0, 12)}`);
  return keptFolder(folder, async (staging) => {
    log(`fetching ${name} from PyPI`);
    const options = words(
      '-m pip install --quiet --disable-pip-version-check --only-binary=:all: --require-hashes',
    );
    await run('python3', [...options, `--target=${staging}`, `--requirement=${requirements}`]);
  });
}
