/** Figures of our processes: what the kernel knows of them, what they tell about themselves, and what they logged. */
import { open } from 'node:fs/promises';
import { rounded } from '../median.ts';
import { cpuSeconds, descriptors, residentMebibytes } from '../process-figures.ts';
import type { ServiceFigures } from './result.ts';

export interface WatchedService {
  name: string;
  pid: number;
  /** Where its metrics are. */
  operations: string;
  logFile: string;
}

/** Ports of the servers. */
export interface Ports {
  kafka: number;
  mongodb: number;
  redis: number;
}

const MIB = 2 ** 20;
const WARNING = 40;
const ERROR = 50;

/** Watches one process; figures that count begin with the call before. */
export class ServiceWatch {
  readonly #service: WatchedService;
  readonly #ports: Ports;
  #at = performance.now();
  #cpu = 0;
  #busy = 0;
  #logRead = 0;

  constructor(service: WatchedService, ports: Ports) {
    this.#service = service;
    this.#ports = ports;
  }

  async look(): Promise<ServiceFigures> {
    const { pid, operations } = this.#service;
    const metrics = await (await fetch(`${operations}/metrics`)).text();
    const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
    const open = await descriptors(pid);
    const [now, cpu] = [performance.now(), await cpuSeconds(pid)];
    const busy = metric('store_data_event_loop_busy_seconds_total');
    const elapsed = (now - this.#at) / 1_000;
    const figures = {
      rss_mib: rounded(await residentMebibytes(pid), 1),
      heap_mib: rounded(metric('nodejs_heap_size_used_bytes') / MIB, 1),
      external_mib: rounded(metric('nodejs_external_memory_bytes') / MIB, 1),
      handles: metric('nodejs_active_handles_total'),
      descriptors: open.all,
      kafka_connections: open.connectedTo(this.#ports.kafka),
      mongodb_connections: open.connectedTo(this.#ports.mongodb),
      redis_connections: open.connectedTo(this.#ports.redis),
      cpu_percent: rounded(((cpu - this.#cpu) / elapsed) * 100, 2),
      event_loop_busy_percent: rounded(((busy - this.#busy) / elapsed) * 100, 2),
      ...(await this.#logged()),
    };
    [this.#at, this.#cpu, this.#busy] = [now, cpu, busy];
    return figures;
  }

  /** Lines since the call before. */
  async #logged(): Promise<{ warnings: number; errors: number }> {
    const file = await open(this.#service.logFile);
    try {
      const { size } = await file.stat();
      const { buffer } = await file.read(
        Buffer.alloc(size - this.#logRead),
        0,
        size - this.#logRead,
        this.#logRead,
      );
      const whole = buffer.subarray(0, buffer.lastIndexOf('\n') + 1);
      this.#logRead += whole.length;
      const levels = whole
        .toString()
        .matchAll(/^\{"level":(\d+)/gm)
        .map(([, level]) => Number(level))
        .toArray();
      return {
        warnings: levels.filter((level) => level === WARNING).length,
        errors: levels.filter((level) => level >= ERROR).length,
      };
    } finally {
      await file.close();
    }
  }
}
