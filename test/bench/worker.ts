/**
 * Worker processes that answer each order with one message, so that their work takes no time of
 * this process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface Worker<Order, Reply> {
  process: ChildProcess;
  /** @throws the error of the program. */
  ask: (order: Order) => Promise<Reply>;
}

/** Starts a worker, which ends with `cleanup`, or when this process is gone. */
export function startWorker<Order extends object, Reply extends object>(
  cleanup: AsyncDisposableStack,
  file: URL,
): Worker<Order, Reply> {
  const child = fork(file);
  cleanup.defer(() => void child.kill());
  const gone = once(child, 'exit').then(() =>
    Promise.reject(new Error(`${file.pathname} is gone`)),
  );
  gone.catch(() => undefined);
  const ask = async (order: Order): Promise<Reply> => {
    child.send(order);
    const [reply] = (await Promise.race([once(child, 'message'), gone])) as [
      Reply | { failed: string },
    ];
    if ('failed' in reply) throw new Error(reply.failed);
    return reply;
  };
  return { process: child, ask };
}
