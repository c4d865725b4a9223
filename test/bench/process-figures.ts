/** What the kernel knows of a process: processor time, memory. */
import { readFile } from 'node:fs/promises';

/** `USER_HZ` of Linux: ticks a second in `/proc/<pid>/stat`. */
const TICKS = 100;
const UTIME = 11;
const STIME = 12;

/** Seconds of processor time, its own and the kernel's on its behalf; of all its threads. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[UTIME]) + Number(fields[STIME])) / TICKS;
}

/** The memory that is resident now, in MiB. */
export function residentMebibytes(pid: number): Promise<number> {
  return memory(pid, 'VmRSS');
}

/** The most memory that was ever resident, in MiB. */
export function peakMebibytes(pid: number): Promise<number> {
  return memory(pid, 'VmHWM');
}

async function memory(pid: number, field: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024;
}
