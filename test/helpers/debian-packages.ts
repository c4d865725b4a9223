/**
 * Programs from Debian packages, unpacked into the cache. apt uses separate lists, so that no root
 * is needed, and checks signatures.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#local/stack/fetch.ts';

const run = promisify(execFile);
const LIMIT_MS = 120_000;

/**
 * @returns the folder with the files. Rejects with apt's output.
 * @param missing whether to add dependencies that are not installed.
 */
export async function debianPackages(
  packages: readonly string[],
  { missing = false } = {},
): Promise<string> {
  const cache = cacheFolder(process.env);
  const name = `${packages[0]}-of-debian`;
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const staging = await mkdtemp(join(cache, `.fetching-${name}-`));
  const settings = {
    'Dir::State::Lists': join(staging, 'lists'),
    'Dir::Cache': join(staging, 'cache'),
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
  };
  const options = Object.entries(settings).map(
    ([setting, value]) => `--option=${setting}=${value}`,
  );
  const inStaging = { cwd: staging, timeout: LIMIT_MS };
  const apt = (...args: string[]) => run('apt-get', [...options, '-qq', ...args], inStaging);
  try {
    await mkdir(join(staging, 'lists', 'partial'), { recursive: true });
    await apt('update');
    const listed = missing
      ? await apt('install', '--print-uris', '--no-install-recommends', ...packages)
      : null;
    const needed = [...(listed?.stdout ?? '').matchAll(/^'[^']*' ([^_]+)_/gm)].map(
      ([, one = '']) => one,
    );
    await apt('download', ...new Set([...packages, ...needed]));
    for (const archive of (await readdir(staging)).filter((file) => file.endsWith('.deb'))) {
      await run('dpkg-deb', ['--extract', archive, 'unpacked'], inStaging);
    }
    await rename(join(staging, 'unpacked'), folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return folder;
}
