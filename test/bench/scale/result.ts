/** What `bench -- scale` finds: one record for each number of stores and instances, a line of JSON each. */
import type { Machine } from '../machine.ts';
import { median, rounded } from '../median.ts';

export interface ScaleOptions {
  stores: number[];
  instances: number[];
  orders: number;
  connections: number;
  seconds: number;
}

/** What projectors did with a backlog of orders, each created and then changed. */
export interface ProjectorFigures {
  /** Of all instances. */
  events_per_second: number;
  /** Microseconds of the projectors' processor time for an event. */
  cpu_us: number;
  /** Of MongoDB's; `null` where it does not run on this machine. */
  mongodb_us: number | null;
  /** Of an event's message. */
  event_bytes: number;
  /** Of the largest instance. */
  peak_mib: number;
}

/** The requests that are measured. */
export const KINDS = ['details', 'list', 'poll'] as const;
export type Kind = (typeof KINDS)[number];

/** What query services did with one kind of request. */
export interface RequestFigures {
  /** Of all instances. */
  per_second: number;
  p50_ms: number;
  /** Of the slowest instance. */
  p99_ms: number;
  /** Microseconds of the query services' processor time for a request. */
  cpu_us: number;
  mongodb_us: number | null;
  redis_us: number;
  /** Bytes between client and query service, headers included. */
  client_bytes: number;
  /** Bytes between query service and MongoDB, and Redis. */
  mongodb_bytes: number;
  redis_bytes: number;
}

/** What lies on MongoDB's disk and in Redis' memory. */
export interface StorageFigures {
  order_document_bytes: number;
  order_index_bytes: number;
  session_bytes: number;
  /** What Redis holds of a store besides sessions: its key's record and grant, its state, its quota. */
  store_bytes: number;
}

export interface ScaleRecord {
  benchmark: 'scale';
  date: string;
  machine: Machine;
  load_average: number;
  orders: number;
  connections: number;
  seconds: number;
  stores: number;
  instances: number;
  projector: ProjectorFigures;
  requests: Record<Kind, RequestFigures>;
  /** Of the largest query service. */
  query_peak_mib: number;
  storage: StorageFigures;
}

/** One record for each number of stores and instances: the medians of all that were measured, ascending. */
export function readRecords(text: string): ScaleRecord[] {
  const records = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ScaleRecord);
  const groups = Map.groupBy(records, ({ stores, instances }) => `${stores}/${instances}`);
  return [...groups.values()]
    .map(medianOf)
    .toSorted((a, b) => a.stores - b.stores || a.instances - b.instances);
}

/** The same as its parts are, with the median of each number. What is no number is that of the last. */
export function medianOf<T>(parts: readonly T[]): T {
  const last = parts.at(-1);
  if (typeof last === 'number') return rounded(median(parts as unknown as number[]), 2) as T;
  if (typeof last !== 'object' || last === null) return last as T;
  return Object.fromEntries(
    Object.keys(last).map((name) => [name, medianOf(parts.map((part) => part[name as keyof T]))]),
  ) as T;
}
