/** Processor time and memory of a process, from the kernel. */
import { readFile } from 'node:fs/promises';
import type { MongoClient } from 'mongodb';

/** `USER_HZ` of Linux: ticks a second in `/proc/<pid>/stat`. */
const TICKS = 100;
const UTIME = 11;
const STIME = 12;

/** Seconds of processor time in user and kernel mode, over all threads; NaN without a process. */
export async function cpuSeconds(pid: number | null): Promise<number> {
  if (pid === null) return Number.NaN;
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[UTIME]) + Number(fields[STIME])) / TICKS;
}

/** The peak resident memory, in MiB. */
export async function peakMebibytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
}

/**
 * The process of a MongoDB; `null` if it is in a container or on another machine: its id belongs to
 * another process here.
 */
export async function pidOfMongodb(mongodb: MongoClient): Promise<number | null> {
  const { pid } = (await mongodb.db().admin().serverStatus()) as unknown as { pid: unknown };
  const name = await readFile(`/proc/${Number(pid)}/comm`, 'utf8').catch(() => '');
  return name.startsWith('mongod') ? Number(pid) : null;
}
