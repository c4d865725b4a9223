/** How much memory a process holds, as Linux tells it. */
import { readFile } from 'node:fs/promises';
import { rounded } from '../../median.ts';
import type { Memory } from './result.ts';

const TARGET_MB = 200;
const BYTES_A_KIB = 1_024;

/** Now and at its peak; `null` where the system has no /proc. */
export async function memoryOf(pid: number): Promise<Memory | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => null);
  if (status === null) return null;
  const megabytes = (field: string) => {
    const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    return rounded((Number(kib) * BYTES_A_KIB) / 1e6, 1);
  };
  return { resident_mb: megabytes('VmRSS'), peak_mb: megabytes('VmHWM'), target_mb: TARGET_MB };
}
