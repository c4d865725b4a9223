/** The result of `bench -- query --orders … --customers …`, as `--json` prints it. */
import type { TimedLoad } from '../../load/messages.ts';
import type { Machine } from '../../machine.ts';
import type { Filled } from '../fill.ts';
import type { Target } from './rows.ts';

export interface ScaleRowResult {
  name: string;
  path: string;
  against: string;
  connections: number;
  /** Medians of the rounds. */
  ours: TimedLoad;
  other: TimedLoad;
  /** Median of the rounds' ratios: how many times as fast as the other; with a target `atMost` how many times as slow. */
  ratio: number;
  round_ratios: number[];
  target: Target | null;
  /** What our 95th percentile must stay below. */
  p95_target_ms: number | null;
  /** `null` where there is no target. */
  is_met: boolean | null;
}

/** Median latency of one connection in milliseconds. */
export interface Point {
  /** A share of the pages from 0 to 1, or a number of records. */
  at: number;
  ours_ms: number;
  usual_way_ms: number;
}

/** How latency grows with the depth of the page, and with the records of the store (at its middle page). */
export interface Curve {
  list: string;
  by_depth: Point[];
  by_records: Point[];
}

/** Bytes on disk for each record. */
export interface Footprint {
  entity: string;
  records: number;
  ours: Bytes & { nodes: number };
  usual_way: Bytes;
}

export interface Bytes {
  documents: number;
  indexes: Record<string, number>;
}

/** Of the query process, in megabytes (10^6 bytes). */
export interface Memory {
  resident_mb: number;
  peak_mb: number;
  target_mb: number;
}

export interface ScaleResult {
  benchmark: 'query at scale';
  date: string;
  machine: Machine;
  /** The server's cache in GiB: what it can hold decompressed. */
  mongodb_cache_gib: number;
  /** Of one minute, when the measurement began: other work shows in the times. */
  load_average: number;
  /** What repeats it. */
  command: string;
  orders: number;
  customers: number;
  connections: number;
  seconds: number;
  rounds: number;
  filled: Filled;
  rows: ScaleRowResult[];
  curves: Curve[];
  footprints: Footprint[];
  /** `null` where the system has no /proc. */
  memory: Memory | null;
}
