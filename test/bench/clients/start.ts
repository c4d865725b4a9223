/** Processes that ask, what they are ordered, and what they say of each request. */
import { rounded } from '../median.ts';
import { startWorker } from '../worker.ts';

export interface AskOrder {
  port: number;
  /** As they are sent, in turn. */
  requests: readonly string[];
  /** Connections that are kept; where none is free a request waits for one, which counts as its time. */
  connections: number;
  seconds: number;
  /** Requests at times that are fixed in advance; absent where each connection asks again once it was answered. */
  phases?: readonly { perSecond: number; seconds: number }[];
}

/** What one request became. */
export interface Told {
  /** When it should have been sent, in milliseconds since the beginning. */
  due: number;
  /** 0 where no answer came. */
  status: number;
  /** From then to the end of its answer. */
  milliseconds: number;
}

/** Starts one. */
export function startAsker(cleanup: AsyncDisposableStack) {
  const { process, ask } = startWorker<AskOrder, { told: Told[] }>(cleanup, new URL('./asker.ts', import.meta.url));
  return { pid: process.pid ?? 0, ask: async (order: AskOrder) => (await ask(order)).told };
}

export interface Percentiles {
  p50_ms: number;
  p99_ms: number;
}

/** The time within which a part of the requests were answered, in milliseconds. */
export function percentile(told: readonly Told[], part: number): number {
  const times = told.map(({ milliseconds }) => milliseconds).toSorted((a, b) => a - b);
  return rounded(times[Math.ceil(times.length * part) - 1] ?? Number.NaN, 1);
}

export function percentilesOf(told: readonly Told[]): Percentiles {
  return { p50_ms: percentile(told, 0.5), p99_ms: percentile(told, 0.99) };
}

/** A request as it is sent. */
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
