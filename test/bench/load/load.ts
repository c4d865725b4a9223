/**
 * Starts the load generator, a process of its own, so that its work takes no time of this process;
 * its orders and results.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';

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
  /** The required status, if only one is right; with 304, polls during writes may also get 200. */
  status?: number;
}

export interface TimedLoad {
  perSecond: number;
  p99Ms: number;
  /** The divisor of the cost, since a run may be a second longer than ordered. */
  answers: number;
}

/** Runs one order. @throws on an unexpected answer. */
export type Load = (order: LoadOrder) => Promise<TimedLoad>;

/** The generator ends with `cleanup`, or when this process is gone. */
export function startLoad(cleanup: AsyncDisposableStack): Load {
  const generator = fork(new URL('./generator.ts', import.meta.url));
  cleanup.defer(() => void generator.kill());
  const gone = once(generator, 'exit').then(() =>
    Promise.reject(new Error('the load generator is gone')),
  );
  gone.catch(() => undefined);
  return async (order) => {
    generator.send(order);
    const [reply] = (await Promise.race([once(generator, 'message'), gone])) as [
      TimedLoad | { failed: string },
    ];
    if ('failed' in reply) throw new Error(reply.failed);
    return reply;
  };
}
