/**
 * Clients in other languages, run as programs. Their dependencies are downloaded once and cached.
 */
import { delimiter, join } from 'node:path';
import type { TestContext } from 'vitest';
import { cacheFolder } from '#local/stack/fetch.ts';
import { findOnPath } from '#local/stack/program.ts';
import { type JavaPackages, javaWith } from '#test/java-packages.ts';
import { installPythonPackages } from '#test/python-packages.ts';
import { run } from '#test/run.ts';

/** Downloading and compiling take up to this long over a slow connection. */
export const FETCH_LIMIT_MS = 240_000;

/** The command of a program that prints JSON. */
export interface Program {
  file: string;
  args: string[];
  cwd: string;
  env?: Record<string, string>;
}

const say = (line: string) => process.stderr.write(`${line}\n`);

export function requireProgram(name: string): string {
  const file = findOnPath(name, process.env);
  if (file === undefined) throw new Error(`${name} is not installed`);
  return file;
}

/**
 * Prepares a Python script with the packages of a folder. Rejects with the reason if Python or the
 * pinned packages are unavailable.
 */
export async function preparePython(folder: string, name: string, ...args: string[]) {
  const file = requireProgram('python3');
  const requirements = join(folder, 'requirements.txt');
  const cache = cacheFolder(process.env);
  const PYTHONPATH = await installPythonPackages({ name, requirements }, cache, say);
  const PATH = `${join(PYTHONPATH, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  return { file, args, cwd: folder, env: { PATH, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' } };
}

/** Prepares a Go program. Rejects with the reason if Go or a module is unavailable. */
export async function prepareGo(folder: string): Promise<Program> {
  const file = requireProgram('go');
  await run(file, ['mod', 'download'], { cwd: folder });
  return { file, args: ['run', '-mod=readonly', '.'], cwd: folder };
}

/**
 * Prepares a Java program of one file. Rejects with the reason if Java, Maven or a jar is
 * unavailable.
 */
export async function prepareJava(
  folder: string,
  source: string,
  wanted: Pick<JavaPackages, 'title' | 'name' | 'downloadBytes'>,
): Promise<Program> {
  requireProgram('mvn');
  const { file, args } = await javaWith({
    ...wanted,
    pom: join(folder, 'pom.xml'),
    checksums: join(folder, 'jars.sha256'),
  });
  return { file, args: [...args, source], cwd: folder };
}

/** Keeps a rejection from counting as unhandled until the test that needs the result awaits it. */
export async function settled<T>(preparation: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [outcome] = await Promise.allSettled([preparation]);
  return outcome;
}

const told = new Set<string>();

/** Unwraps a preparation. Skips the test with the reason if this machine lacks a prerequisite. */
export async function prepared<T>(
  preparation: Promise<PromiseSettledResult<T>>,
  { task, skip }: TestContext,
): Promise<T> {
  const outcome = await preparation;
  if (outcome.status === 'fulfilled') return outcome.value;
  const reason = String(outcome.reason);
  if (/hash|checksum|differs from/i.test(reason)) throw outcome.reason;
  if (!told.has(reason)) say(`skipped, ${task.name}: ${reason}`);
  told.add(reason);
  return skip(reason);
}

export async function runProgram(program: Program, input?: unknown): Promise<unknown> {
  const { file, args, ...options } = program;
  return JSON.parse(await run(file, args, { ...options, input: JSON.stringify(input) }));
}
