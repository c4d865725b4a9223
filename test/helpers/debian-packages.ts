/**
 * Programs from Debian packages, unpacked into the cache. apt uses separate lists, so that no root
 * is needed, and checks signatures.
 */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from '#local/stack/fetch.ts';
import { keptFolder } from './made-once.ts';
import { run } from './run.ts';

const LIMIT_MS = 120_000;

/**
 * @returns the folder with the files. Rejects with apt's output.
 * @param missing whether to add dependencies that are not installed.
 */
export async function debianPackages(
  packages: readonly string[],
  { missing = false } = {},
): Promise<string> {
  const folder = join(cacheFolder(process.env), `${packages[0]}-of-debian`);
  return keptFolder(folder, (staging) => unpack(packages, missing, staging));
}

async function unpack(
  packages: readonly string[],
  missing: boolean,
  folder: string,
): Promise<void> {
  const staging = await mkdtemp(join(tmpdir(), 'store-data-debian-'));
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
      : '';
    const needed = [...listed.matchAll(/^'[^']*' ([^_]+)_/gm)].map(([, one = '']) => one);
    await apt('download', ...new Set([...packages, ...needed]));
    for (const archive of (await readdir(staging)).filter((file) => file.endsWith('.deb'))) {
      await run('dpkg-deb', ['--extract', archive, folder], inStaging);
    }
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}
