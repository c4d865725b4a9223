/** Figures of our processes and of the servers: what the kernel knows of them, what they tell about themselves, and what they logged. */
import { open } from 'node:fs/promises';
import type { Admin } from 'kafkajs';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { readModels } from '#test/read-models.ts';
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

type ServerFigures = Pick<Sample, 'mongodb' | 'documents' | 'redis' | 'messages'>;

export async function lookAtServers(installation: Installation, kafka: Admin): Promise<ServerFigures> {
  const { environment, mongodb, redis } = installation;
  const db = await readModels(installation);
  const { connections, mem } = (await mongodb.db('admin').command({ serverStatus: 1 })) as {
    connections: { current: number };
    mem: { resident: number };
  };
  const sizes = await db.stats({ scale: MIB });
  const documents: Record<string, number> = {};
  for (const name of Object.values(COLLECTIONS)) {
    documents[name] = await db.collection(name).estimatedDocumentCount();
  }
  const info = await redis.info();
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  const messages = async (topic: string) =>
    (await kafka.fetchTopicOffsets(topic)).reduce((sum, { high }) => sum + Number(high), 0);
  return {
    mongodb: {
      connections: connections.current,
      resident_mib: mem.resident,
      data_mib: rounded(Number(sizes['dataSize']), 1),
      storage_mib: rounded(Number(sizes['storageSize']) + Number(sizes['indexSize']), 1),
    },
    documents,
    redis: {
      clients: field('connected_clients'),
      memory_mib: rounded(field('used_memory') / MIB, 2),
      keys: await redis.dbsize(),
    },
    messages: {
      changes: await messages(changesTopic(environment)),
      access: await messages(accessTopic(environment)),
    },
  };
}
