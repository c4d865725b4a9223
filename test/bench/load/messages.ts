/** What is said between the benchmark and the process that makes the load. */

export interface LoadOrder {
  url: string;
  headers: Record<string, string>;
  connections: number;
  seconds: number;
  /** Every answer must have this status. */
  status: number;
}

export interface LoadResult {
  requests_per_second: number;
  p50_ms: number;
  p99_ms: number;
}

export type LoadReply = LoadResult | { failed: string };
