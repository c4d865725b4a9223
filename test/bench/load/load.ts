/** Starts the process that makes the load, and gives it its orders. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { LoadOrder, LoadReply, TimedLoad } from './messages.ts';

/** Runs one order. @throws when an answer was not the one expected. */
export type Load = (order: LoadOrder) => Promise<TimedLoad>;

/** Starts it; it ends with `cleanup`, or by itself when this process is gone. */
export function startLoad(cleanup: AsyncDisposableStack): Load {
  const child = fork(new URL('./generator.ts', import.meta.url));
  cleanup.defer(() => void child.kill());
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('the load generator is gone')));
  gone.catch(() => undefined);
  return async (order) => {
    child.send(order);
    const [reply] = (await Promise.race([once(child, 'message'), gone])) as [LoadReply];
    if ('failed' in reply) throw new Error(reply.failed);
    return reply;
  };
}
