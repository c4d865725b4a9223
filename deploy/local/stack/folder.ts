// The data folder of a stack: a subfolder with each part's data, logs/ with each part's output, and its owner: one stack at a time.
import { existsSync, linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf, StackError } from './wait.ts';

export type PartName = 'kafka' | 'mongodb' | 'redis';

/** Where things lie in the data folder of a stack. */
export interface DataFolder {
  path: string;
  part(name: PartName): string;
  logs: string;
  logFile(name: PartName): string;
  /** Says which stack the folder belongs to. */
  ownerFile: string;
}

/** Tells where things lie in the folder. */
export function dataFolderAt(folder: string): DataFolder {
  const path = resolve(folder);
  const logs = join(path, 'logs');
  return {
    path,
    part: (name) => join(path, name),
    logs,
    logFile: (name) => join(logs, `${name}.log`),
    ownerFile: join(path, 'owner.json'),
  };
}

/** Removes what a stack has put there, and the folder around it if that is empty then. */
export function removeAll(paths: readonly string[], folder: DataFolder): void {
  for (const path of paths) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  try {
    rmdirSync(folder.path);
  } catch {
    // It holds other files: logs of a failure, or the user's own.
  }
}

const GUARDIAN_LIMIT_MS = 10_000;

/** A process that may have ended since; `started` distinguishes it from a later one with the same id. */
interface ProcessIdentity {
  pid: number;
  started: string;
}

interface Owner {
  owner: ProcessIdentity;
  guardian: ProcessIdentity;
}

/**
 * Makes the folder and claims it for this process and its guardian. Removing the owner file releases it.
 * The guardian of a dead owner may still be removing things: the claim waits for it.
 */
export async function claimFolder(folder: DataFolder, guardianPid: number): Promise<void> {
  const limit = Date.now() + GUARDIAN_LIMIT_MS;
  const claim: Owner = { owner: identify(process.pid), guardian: identify(guardianPid) };
  while (!tryToClaim(folder, claim)) {
    const known = readOwner(folder.ownerFile);
    if (known !== undefined && isRunning(known.owner)) {
      throw new StackError(
        `process ${known.owner.pid} runs a stack in ${folder.path}; stop it, or give this one its own folder`,
      );
    }
    const finished = known === undefined || !isRunning(known.guardian) || Date.now() > limit;
    if (finished) rmSync(folder.ownerFile, { force: true });
    else await sleep(50);
  }
}

function tryToClaim({ path, ownerFile }: DataFolder, claim: Owner): boolean {
  // Written beside it and linked, so that a reader never sees half of it.
  const draft = `${ownerFile}.${process.pid}`;
  try {
    mkdirSync(path, { recursive: true });
    writeFileSync(draft, JSON.stringify(claim));
    linkSync(draft, ownerFile);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Somebody's claim, or a guardian removed the folder at this very moment.
    if (code === 'EEXIST' || code === 'ENOENT') return false;
    throw new StackError(
      `the data folder cannot be used (${reasonOf(error)}): npm start -- --folder <path> takes another one`,
      { cause: error },
    );
  } finally {
    if (existsSync(draft)) rmSync(draft);
  }
}

function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Owner;
  } catch {
    // None, or cut short by the death of who wrote it.
    return undefined;
  }
}

function isRunning(known: ProcessIdentity): boolean {
  try {
    process.kill(known.pid, 0);
  } catch {
    return false;
  }
  return identify(known.pid).started === known.started;
}

/** On Linux the start time distinguishes a process from a later one with its id; other systems have the id alone. */
function identify(pid: number): ProcessIdentity {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold blanks; the start time is the 20th field behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid, started: fields[0] === 'Z' ? 'ended' : (fields[19] ?? '') };
  } catch {
    return { pid, started: '' };
  }
}
