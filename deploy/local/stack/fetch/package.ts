// Keeps packages in the cache: fetched once, checked against committed checksums at every use, and never half there.
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { reasonOf, StackError } from '../errors.ts';
import type { StartContext } from '../part.ts';
import { watchGrowth } from './progress.ts';

/** Refuses a machine that the fetched programs are not made for. */
export function requirePlatform(platform: string = process.platform, arch: string = process.arch): void {
  if (platform === 'linux' && arch === 'x64') return;
  throw new StackError(
    `servers can be fetched for Linux on x86_64 only, and this is ${platform} on ${arch}: ` +
      'start a Docker engine, or give addresses in KAFKA_BROKERS, MONGODB_URI and REDIS_URL',
  );
}

/** The folder that fetched programs are kept in, outside the repository. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const { STORE_DATA_CACHE: own, XDG_CACHE_HOME: shared } = env;
  if (own !== undefined && own !== '') return own;
  return join(shared !== undefined && shared !== '' ? shared : join(homedir(), '.cache'), 'store-data');
}

const INSTALL_ATTEMPTS = 10;

/** A set of files that a package registry has. */
export interface Package {
  /** For people: the program and its version. */
  title: string;
  /** The folder's name in the cache. */
  name: string;
  /** The committed list of all files that are used, with their SHA-256 sums. */
  checksums: string;
  downloadBytes: number;
  /** Puts the files into `target`, an empty folder inside `staging`; what else is in `staging` is thrown away. */
  fetch(target: string, staging: string, context: StartContext): Promise<void>;
}

/** The folder that holds the whole package, fetched if need be. */
export async function ensurePackage(wanted: Package, context: StartContext): Promise<string> {
  requirePlatform();
  const cache = cacheFolder(context.env);
  // The list's own hash in the name: a release with other files gets a folder of its own beside the old one.
  const list = createHash('sha256')
    .update(await readFile(wanted.checksums))
    .digest('hex');
  const folder = join(cache, `${wanted.name}-${list.slice(0, 12)}`);
  const damaged = await findDamagedIn(folder, wanted);
  if (damaged !== undefined && damaged.length === 0) return folder;
  if (damaged !== undefined) context.log(`${folder} is damaged (${damaged[0]}): fetching it again`);
  const staging = join(cache, `.fetching-${wanted.name}-${randomUUID()}`);
  await context.guard.hold('path', staging);
  await mkdir(staging, { recursive: true }).catch((error: unknown) => {
    context.guard.release('path', staging);
    const why = `programs cannot be kept in ${cache} (${reasonOf(error)})`;
    throw new StackError(`${why}: set STORE_DATA_CACHE to a folder that can be written`, { cause: error });
  });
  try {
    await fetchInto(staging, wanted, context);
    await install(join(staging, 'whole'), folder, staging, wanted);
  } finally {
    await rm(staging, { recursive: true, force: true });
    context.guard.release('path', staging);
  }
  return folder;
}

/** Undefined when there is no such folder. */
async function findDamagedIn(folder: string, wanted: Package): Promise<string[] | undefined> {
  try {
    return await findDamaged(folder, wanted.checksums);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function fetchInto(staging: string, wanted: Package, context: StartContext): Promise<void> {
  const started = Date.now();
  const megabytes = Math.round(wanted.downloadBytes / 1_000_000);
  context.log(`fetching ${wanted.title} (${megabytes} MB)`);
  const stopWatching = watchGrowth(staging, wanted.title, wanted.downloadBytes, context.log);
  const target = join(staging, 'whole');
  try {
    await mkdir(target);
    await wanted.fetch(target, staging, context);
  } catch (error) {
    throw new StackError(`could not fetch ${wanted.title}: ${reasonOf(error)}`, { cause: error });
  } finally {
    stopWatching();
  }
  const damaged = await findDamaged(target, wanted.checksums);
  if (damaged.length > 0) {
    throw new StackError(
      `what was fetched is not ${wanted.title}: ${damaged.join(', ')} differs from ${wanted.checksums}`,
    );
  }
  context.log(`fetched ${wanted.title} in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** Moves the finished folder into place. Another process may do the same at this moment: either result will do. */
async function install(whole: string, folder: string, staging: string, wanted: Package): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await rename(whole, folder);
      return;
    } catch (error) {
      const damaged = await findDamagedIn(folder, wanted);
      if (damaged !== undefined && damaged.length === 0) return;
      if (attempt === INSTALL_ATTEMPTS) throw error;
    }
    // The damaged package is moved away, unless another process was quicker.
    await rename(folder, join(staging, `replaced-${attempt}`)).catch(() => undefined);
  }
}

const run = promisify(execFile);

/**
 * The names of the files in `folder` that are missing or differ from the list; none when all is as committed.
 * sha256sum does it on a core of its own, while this process goes on starting the other servers.
 */
export async function findDamaged(folder: string, listFile: string): Promise<string[]> {
  try {
    await run('sha256sum', ['--check', '--quiet', '--strict', listFile], {
      cwd: folder,
      // The words below are not to be translated.
      env: { ...process.env, LC_ALL: 'C' },
    });
    return [];
  } catch (error) {
    const damaged = namesIn(outputOf(error));
    if (damaged.length === 0) throw error;
    return damaged;
  }
}

function outputOf(error: unknown): string {
  if (error instanceof Error && 'stdout' in error && typeof error.stdout === 'string') return error.stdout;
  return '';
}

function namesIn(output: string): string[] {
  return [...output.matchAll(/^(.+): FAILED(?: open or read)?$/gm)].flatMap(([, name]) => name ?? []);
}
