/**
 * Prometheus' promtool, which tests alerting rules: the one of the PATH, else out of Debian's package, kept in the cache. apt gets
 * lists of its own, so that neither root nor an `apt-get update` is needed; what it fetches is signed.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { access, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { describeError } from '#shared/errors.ts';
import { cacheFolder } from '../../../deploy/local/stack/fetch.ts';
import { findOnPath } from '../../../deploy/local/stack/program.ts';

const run = promisify(execFile);

const FETCH_MS = 120_000;

/** The file of the program, or why there is none. */
export type Tool = { file: string } | { missing: string };

/** Finds it, or fetches it. */
export async function findPromtool(env: NodeJS.ProcessEnv): Promise<Tool> {
  const name = 'promtool';
  const installed = findOnPath(name, env);
  if (installed !== undefined) return { file: installed };
  const cache = cacheFolder(env);
  const file = join(cache, name);
  if (await isThere(file)) return { file };
  const staging = join(cache, `.fetching-${name}-${randomUUID()}`);
  try {
    await mkdir(join(staging, 'lists', 'partial'), { recursive: true });
    await rename(join(await fetchPrograms(staging), name), file);
    return { file };
  } catch (error) {
    return { missing: `no ${name}, and Debian's package prometheus cannot be had: ${describeError(error)}` };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function fetchPrograms(staging: string): Promise<string> {
  const settings = {
    'Dir::State::Lists': join(staging, 'lists'),
    'Dir::Cache': join(staging, 'cache'),
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
  };
  const options = Object.entries(settings).map(([name, value]) => `--option=${name}=${value}`);
  const inStaging = { cwd: staging, timeout: FETCH_MS };
  await run('apt-get', [...options, '--quiet', 'update'], inStaging);
  await run('apt-get', [...options, '--quiet', 'download', 'prometheus'], inStaging);
  const archive = (await readdir(staging)).find((name) => name.endsWith('.deb')) ?? '';
  await run('dpkg-deb', ['--extract', archive, 'unpacked'], inStaging);
  return join(staging, 'unpacked', 'usr', 'bin');
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

export const RULES = join(import.meta.dirname, '../../../deploy/prometheus/alerts.yaml');

/** Lets promtool run tests of our rules. @returns what it says of those that fail; empty where none does. */
export async function runRules(promtool: string, tests: readonly object[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-alerts-'));
  const file = join(folder, 'alerts.test.yaml');
  try {
    const content = { rule_files: [RULES], evaluation_interval: '1m', tests };
    await writeFile(file, stringify(content, { aliasDuplicateObjects: false }));
    await run(promtool, ['test', 'rules', file]);
    return '';
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return `${stdout}${stderr}` || String(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
