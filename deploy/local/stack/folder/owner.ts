// A data folder belongs to one stack at a time: a second one would remove or corrupt the first one's data.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { StackError } from '../errors.ts';
import type { DataFolder } from './data-folder.ts';

const GUARDIAN_LIMIT_MS = 10_000;

/** A process that may since have ended; `started` tells it from a later one with the same id. */
interface ProcessIdentity {
  pid: number;
  started: string;
}

interface Owner {
  owner: ProcessIdentity;
  guardian: ProcessIdentity;
}

/**
 * Claims the folder for this process and its guardian; who removes the owner file gives it back.
 * A dead owner's guardian may still be at work for a moment: it is waited for.
 */
export async function claimFolder(
  { path: folder, ownerFile: file }: DataFolder,
  guardianPid: number,
): Promise<void> {
  await waitUntilFree(folder, file);
  const claim: Owner = { owner: identify(process.pid), guardian: identify(guardianPid) };
  try {
    writeFileSync(file, JSON.stringify(claim), { flag: 'wx' });
  } catch (cause) {
    throw new StackError(`another stack is starting in ${folder}; give this one a folder of its own`, {
      cause,
    });
  }
}

async function waitUntilFree(folder: string, file: string): Promise<void> {
  const limit = Date.now() + GUARDIAN_LIMIT_MS;
  for (;;) {
    const claim = readOwner(file);
    if (claim === undefined) return rmSync(file, { force: true });
    if (isRunning(claim.owner)) {
      throw new StackError(
        `process ${claim.owner.pid} runs a stack in ${folder}; stop it, or give this one its own folder`,
      );
    }
    if (!isRunning(claim.guardian) || Date.now() > limit) return rmSync(file, { force: true });
    await sleep(50);
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

/** On Linux the start time tells a process from a later one with its id; elsewhere the id has to do. */
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
