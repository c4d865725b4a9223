/** What the kernel knows of a process: processor time, memory. */
import { readdir, readFile, readlink } from 'node:fs/promises';

/** `USER_HZ` of Linux: ticks a second in `/proc/<pid>/stat`. */
const TICKS = 100;
const UTIME = 11;
const STIME = 12;
/** Fields of a line of `/proc/<pid>/net/tcp`. */
const REMOTE_ADDRESS = 2;
const INODE = 9;

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

/** What a process has open: file descriptors in all, and connections by the port at their other end. */
export interface Descriptors {
  all: number;
  connectedTo: (port: number) => number;
}

/** Counts what a process has open; of connections those over IPv4. */
export async function descriptors(pid: number): Promise<Descriptors> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all(
    // One may be closed meanwhile.
    (await readdir(folder)).map((name) => readlink(`${folder}/${name}`).catch(() => '')),
  );
  const open = new Set(links);
  const ports: number[] = [];
  for (const line of (await readFile(`/proc/${pid}/net/tcp`, 'utf8')).trim().split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    const [remote = '', inode = ''] = [fields[REMOTE_ADDRESS], fields[INODE]];
    if (open.has(`socket:[${inode}]`)) ports.push(Number.parseInt(remote.slice(remote.indexOf(':') + 1), 16));
  }
  return { all: links.length, connectedTo: (port) => ports.filter((one) => one === port).length };
}
