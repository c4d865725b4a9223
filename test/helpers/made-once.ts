/** Keeps what tests build of files of the repository, until one of these files changes. */
import { createHash } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/tests');

/**
 * @param sources all files that the result depends on, as patterns below the repository.
 * @param make fills an empty folder, which may be moved.
 * @returns the folder. Its users do not change it.
 */
export async function madeOnce(
  name: string,
  sources: readonly string[],
  make: (folder: string) => Promise<unknown>,
): Promise<string> {
  const hash = createHash('sha256').update(process.version);
  for (const path of globSync(sources, { cwd: ROOT, exclude: ['**/__pycache__/**'] }).toSorted()) {
    const text = await readFile(join(ROOT, path)).catch(unlessFolder);
    hash.update(`\0${path}\0`).update(text);
  }
  const folder = join(CACHE, `${name}-${hash.digest('hex').slice(0, 16)}`);
  return keptFolder(folder, make);
}

/** The folder as it was kept; without it, what `make` makes of an empty one. */
export async function keptFolder(
  folder: string,
  make: (folder: string) => Promise<unknown>,
): Promise<string> {
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const staging = await mkdtemp(join(dirname(folder), `.${basename(folder)}-`));
  try {
    await make(staging);
    await rename(staging, folder);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!existsSync(folder)) throw error;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return folder;
}

function unlessFolder(error: NodeJS.ErrnoException): string {
  if (error.code === 'EISDIR') return '';
  throw error;
}
