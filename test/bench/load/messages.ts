/** What is said between the benchmark and the process that makes the load. */

export interface LoadOrder {
  url: string;
  headers: Record<string, string>;
  /** A body makes it a POST. */
  body?: string;
  /** Headers of their own for requests that every connection makes in turn, each beginning with another. */
  each?: readonly Record<string, string>[];
  /** Connections share them out instead: with thousands, none would come twice. */
  sharedOut?: true;
  /** Requests of their own instead, in turn like `each`. */
  requests?: readonly { path: string; headers: Record<string, string> }[];
  connections: number;
  seconds: number;
  /** Every answer must have this status; 304 is one of polls beside writes, which may be 200 as well. */
  status: number;
}

export interface LoadResult {
  requests_per_second: number;
  p50_ms: number;
  p99_ms: number;
}

/** As the process that makes the load tells it. */
export interface TimedLoad extends LoadResult {
  p95_ms: number;
  /** It may go on for a second longer than it was ordered to: by these its cost is divided. */
  answers: number;
}

export type LoadReply = TimedLoad | { failed: string };
