/** Figures of our processes and of the servers: what the kernel knows of them, what they tell about themselves, and what they logged. */
import { open } from 'node:fs/promises';
import type { Installation } from '#test/installation.ts';
import { rounded } from '../median.ts';
import { cpuSeconds, descriptors, residentMebibytes } from '../process-figures.ts';
import type { Sample, ServiceFigures } from './report.ts';

export interface WatchedService {
  name: string;
  pid: number;
  /** Where its metrics are. */
  operations: string;
  logFile: string;
}

const MIB = 2 ** 20;
const WARNING = 40;
const ERROR = 50;

/** Watches one process; figures that count begin with the call before. @param ports of the servers. */
export function watchService({ pid, operations, logFile }: WatchedService, ports: readonly number[]) {
  let [at, cpu, logRead] = [performance.now(), 0, 0];
  /** Levels of the lines that came since the call before. */
  const logged = async (): Promise<number[]> => {
    const file = await open(logFile);
    try {
      const size = (await file.stat()).size - logRead;
      const { buffer } = await file.read(Buffer.alloc(size), 0, size, logRead);
      const whole = buffer.subarray(0, buffer.lastIndexOf('\n') + 1);
      logRead += whole.length;
      return Array.from(whole.toString().matchAll(/^\{"level":(\d+)/gm), ([, level]) => Number(level));
    } finally {
      await file.close();
    }
  };
  return async (): Promise<ServiceFigures> => {
    const metrics = await (await fetch(`${operations}/metrics`)).text();
    const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
    const { all, connectedTo } = await descriptors(pid);
    const [cpuBefore, before] = [cpu, at];
    [at, cpu] = [performance.now(), await cpuSeconds(pid)];
    const levels = await logged();
    return {
      rss_mib: rounded(await residentMebibytes(pid), 1),
      heap_mib: rounded(metric('nodejs_heap_size_used_bytes') / MIB, 1),
      handles: metric('nodejs_active_handles_total'),
      descriptors: all,
      connections: ports.reduce((sum, port) => sum + connectedTo(port), 0),
      cpu_percent: rounded(((cpu - cpuBefore) / (at - before)) * 100_000, 2),
      warnings: levels.filter((level) => level === WARNING).length,
      errors: levels.filter((level) => level >= ERROR).length,
    };
  };
}

export async function lookAtServers({ mongodb, redis }: Installation): Promise<Pick<Sample, 'mongodb' | 'redis'>> {
  const { connections } = (await mongodb.db('admin').command({ serverStatus: 1 })) as {
    connections: { current: number };
  };
  const info = await redis.info();
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  return {
    mongodb: { connections: connections.current },
    redis: { clients: field('connected_clients'), memory_mib: rounded(field('used_memory') / MIB, 2) },
  };
}
