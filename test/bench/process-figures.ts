/** What the kernel knows of a process: processor time, waking up, memory. */
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

/** How often its main thread has waited for something and gone on. */
export async function wakeUps(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/task/${pid}/status`, 'utf8');
  return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1]);
}

/** The most memory that was ever resident, in MiB. */
export async function peakMebibytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return Number(kibibytes) / 1_024;
}
