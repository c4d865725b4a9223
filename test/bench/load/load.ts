/** Starts the load generator; its orders and results. */
import { startWorker } from '../worker.ts';

export interface LoadOrder {
  url: string;
  headers: Record<string, string>;
  /** A body makes it a POST. */
  body?: string;
  /**
   * Requests with individual paths or headers. Every connection sends them in turn, with another
   * one first.
   */
  requests?: readonly { path?: string; headers: Record<string, string> }[];
  connections: number;
  seconds: number;
  /** The required status; with 304, polls during writes may also get 200. */
  status: number;
}

export interface TimedLoad {
  requests_per_second: number;
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
  /** The divisor of the cost, since a run may be a second longer than ordered. */
  answers: number;
}

/** Runs one order. @throws on an unexpected answer. */
export type Load = (order: LoadOrder) => Promise<TimedLoad>;

export function startLoad(cleanup: AsyncDisposableStack): Load {
  return startWorker<LoadOrder, TimedLoad>(cleanup, new URL('./generator.ts', import.meta.url)).ask;
}
