/** The process that makes the load, and what it is ordered. */
import { startWorker } from '../worker.ts';

export interface LoadOrder {
  url: string;
  headers: Record<string, string>;
  /** A body makes it a POST. */
  body?: string;
  /** Requests with paths or headers of their own, which every connection makes in turn, each beginning with another. */
  requests?: readonly { path?: string; headers: Record<string, string> }[];
  connections: number;
  seconds: number;
  /** Every answer must have this status; 304 is that of polls during writes, which may be 200 as well. */
  status: number;
}

export interface TimedLoad {
  requests_per_second: number;
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
  /** The load may take a second longer than it was ordered to: by these its cost is divided. */
  answers: number;
}

/** Runs one order. @throws when an answer was not the one expected. */
export type Load = (order: LoadOrder) => Promise<TimedLoad>;

/** Starts the process. */
export function startLoad(cleanup: AsyncDisposableStack): Load {
  return startWorker<LoadOrder, TimedLoad>(cleanup, new URL('./generator.ts', import.meta.url)).ask;
}
