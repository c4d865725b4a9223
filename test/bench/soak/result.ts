/** What a soak writes down, line by line as JSON: first what it is, then one sample after the other. */
import type { Machine } from '../machine.ts';

export interface SoakOptions {
  /** How long it runs, once everything is set up. */
  seconds: number;
  stores: number;
  /** Of the simulated stores in all, about. */
  eventsPerSecond: number;
  requestsPerSecond: number;
  /** Seconds from one sample to the next. */
  every: number;
}

export interface SoakHead extends SoakOptions {
  benchmark: 'soak';
  date: string;
  machine: Machine;
}

/** What one of our processes is at the moment of a sample. */
export interface ServiceFigures {
  rss_mib: number;
  heap_mib: number;
  external_mib: number;
  /** What keeps the event loop alive, as Node counts it. */
  handles: number;
  descriptors: number;
  kafka_connections: number;
  mongodb_connections: number;
  redis_connections: number;
  /** Of one core, since the sample before. */
  cpu_percent: number;
  /** Of the time since the sample before. */
  event_loop_busy_percent: number;
  /** Lines of its log since the sample before. */
  warnings: number;
  errors: number;
}

export interface Times {
  count: number;
  p50_ms: number;
  p99_ms: number;
}

export interface Sample {
  /** Minutes since it began. */
  minute: number;
  /** Load average of the machine. */
  load: number;
  services: Record<string, ServiceFigures>;
  mongodb: { connections: number; resident_mib: number; data_mib: number; storage_mib: number };
  /** How many documents each collection of the read models has. */
  documents: Record<string, number>;
  redis: { clients: number; memory_mib: number; keys: number };
  /** Messages of the topics. */
  messages: { changes: number; access: number };
  /** By kind, since the sample before. */
  answers: Record<string, Times>;
  /** From the time of an event until a client that waits was told, since the sample before. */
  freshness: Times;
  /** Answers that are not as they must be, by kind and what was wrong, since the sample before. */
  wrong: Record<string, number>;
  /** Answers 503, by kind, since the sample before. */
  refused: Record<string, number>;
}

export interface SoakRecord {
  head: SoakHead;
  samples: Sample[];
}

/** Reads what was written down; also of a soak that was ended early. */
export function parseRecord(text: string): SoakRecord {
  const [head, ...samples] = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
  if ((head as SoakHead | undefined)?.benchmark !== 'soak')
    throw new Error('the file is not what a soak wrote down');
  return { head: head as SoakHead, samples: samples as Sample[] };
}
