/** Starts the processes that ask, and gives them their orders. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Visit, VisitOrder, VisitReply } from './messages.ts';

/** Runs one order. */
export type Visitor = (order: VisitOrder) => Promise<Visit>;

/** Starts one; it ends with `cleanup`, or by itself when this process is gone. */
export function startVisitor(cleanup: AsyncDisposableStack): Visitor {
  const child = fork(new URL('./visitor.ts', import.meta.url));
  cleanup.defer(() => void child.kill());
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('a visitor is gone')));
  gone.catch(() => undefined);
  return async (order) => {
    child.send(order);
    const [reply] = (await Promise.race([once(child, 'message'), gone])) as [VisitReply];
    if ('failed' in reply) throw new Error(reply.failed);
    return reply;
  };
}
