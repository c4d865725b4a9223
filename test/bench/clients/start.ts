/** Processes that ask, what they are ordered, and what they say of each request. */
import { percentile, rounded } from '../median.ts';
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

/** Of requests: the time within which half and ninety-nine of a hundred of them were answered, in milliseconds. */
export function percentilesOf(told: readonly Told[]): { p50_ms: number; p99_ms: number } {
  const times = told.map(({ milliseconds }) => milliseconds);
  return { p50_ms: rounded(percentile(times, 0.5), 1), p99_ms: rounded(percentile(times, 0.99), 1) };
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
