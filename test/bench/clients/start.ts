/** Starts client processes; their orders and reports. */
import { percentile, rounded } from '../median.ts';
import { startWorker } from '../worker.ts';

export interface RequestOrder {
  port: number;
  /** Raw requests, sent in turn. */
  requests: readonly string[];
  /** Keep-alive connections. If none is free a request waits, which counts as response time. */
  connections: number;
  seconds: number;
  /**
   * Load at times fixed in advance; if absent, each connection sends its next request after an
   * answer.
   */
  phases?: readonly { perSecond: number; seconds: number }[];
}

/** The outcome of a request. */
export interface Outcome {
  /** The planned time, in milliseconds since the beginning. */
  due: number;
  /** 0 without an answer. */
  status: number;
  /** From the planned time to the end of the answer. */
  milliseconds: number;
}

export function startLoadProcess(cleanup: AsyncDisposableStack) {
  const { process, ask } = startWorker<RequestOrder, { outcomes: Outcome[] }>(
    cleanup,
    new URL('./load.ts', import.meta.url),
  );
  return { pid: process.pid ?? 0, ask: async (order: RequestOrder) => (await ask(order)).outcomes };
}

/** The median and the 99th percentile of response times, in milliseconds. */
export function percentilesOf(outcomes: readonly Outcome[]): { p50_ms: number; p99_ms: number } {
  const times = outcomes.map(({ milliseconds }) => milliseconds);
  return {
    p50_ms: rounded(percentile(times, 0.5), 1),
    p99_ms: rounded(percentile(times, 0.99), 1),
  };
}

/** A raw HTTP request. */
export function httpRequest(line: string, headers: Record<string, string>, body = ''): string {
  const all = {
    host: 'store-data',
    ...headers,
    ...(body === '' ? {} : { 'content-length': String(body.length) }),
  };
  return `${line} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n${body}`;
}
