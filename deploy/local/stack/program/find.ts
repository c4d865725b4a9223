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

function isExecutable(file: string): boolean {
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

/** A program of this machine, as messages call it: its name, its version and where it is from. */
export interface FoundProgram {
  file: string;
  description: string;
}

/** The first of some places that has a program which is new enough; of those that are too old it is told. */
export async function findInstalled(
  places: readonly (readonly [place: string, file: string | undefined])[],
  { name, flag, pattern, oldest }: { name: string; flag: string; pattern: RegExp; oldest: number },
  { env, log }: { env: NodeJS.ProcessEnv; log: (line: string) => void },
): Promise<FoundProgram | undefined> {
  for (const [place, file] of places) {
    if (file === undefined || !isExecutable(file)) continue;
    const version = await askVersion(file, flag, pattern, env).catch(() => undefined);
    if (version === undefined) continue;
    const description = `${name} ${version} of ${place}`;
    if (Number.parseInt(version, 10) >= oldest) return { file, description };
    log(`${description} is too old (${oldest} is needed)`);
  }
  return undefined;
}
