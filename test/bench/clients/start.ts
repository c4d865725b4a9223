/** Starts the processes that ask, and gives them their orders. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rounded } from '../median.ts';
import type { AskOrder, AskReply, Told } from './messages.ts';

export interface Asker {
  pid: number;
  ask: (order: AskOrder) => Promise<Told[]>;
}

/** Starts one; it ends with `cleanup`, or by itself when this process is gone. */
export function startAsker(cleanup: AsyncDisposableStack): Asker {
  const child = fork(new URL('./asker.ts', import.meta.url));
  cleanup.defer(() => void child.kill());
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('a process that asks is gone')));
  gone.catch(() => undefined);
  const ask = async (order: AskOrder): Promise<Told[]> => {
    child.send(order);
    const [reply] = (await Promise.race([once(child, 'message'), gone])) as [AskReply];
    if ('failed' in reply) throw new Error(reply.failed);
    return reply.told;
  };
  return { pid: child.pid ?? 0, ask };
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
