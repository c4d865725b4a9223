// Finds programs on the PATH and asks them for their version.
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The first executable of this name on the PATH. */
export function findOnPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Whether this process may run the file. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The version a program tells, by the first match of `pattern` in what it prints (one group: the version).
 * Rejects when it does not run at all, with what it printed: a missing library is told this way.
 */
export async function askVersion(
  file: string,
  flag: string,
  pattern: RegExp,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const { stdout, stderr } = await run(file, [flag], { env, timeout: 10_000 });
  return pattern.exec(`${stdout}\n${stderr}`)?.[1];
}

/** The part of a version before the first dot, as a number. */
export function majorOf(version: string): number {
  return Number.parseInt(version, 10);
}
