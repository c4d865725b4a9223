/** Asks the service from a thread of its own, which does not slow down whoever measures beside it. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { setTimeout as pause } from 'node:timers/promises';
import { times } from '#test/times.ts';

export interface Order {
  url: string;
  token: string;
  /** Each connection asks all in turn, and begins with another one. */
  targets: readonly string[];
  connections: number;
  pauseMs: number;
}

export interface Asked {
  /** How many answers had each status; 0 for none. */
  statuses: Record<number, number>;
  /** Of each answer, until its end. */
  milliseconds: number[];
}

/** Starts to ask. @returns ends it, with what was answered. */
export function startAsking(order: Order): () => Promise<Asked> {
  const over = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(new URL(import.meta.url), { workerData: { order, over } });
  return async () => {
    Atomics.store(over, 0, 1);
    const [asked] = (await once(worker, 'message')) as [Asked];
    await worker.terminate();
    return asked;
  };
}

async function ask({ url, token, targets, connections, pauseMs }: Order, isOver: () => boolean) {
  const asked: Asked = { statuses: {}, milliseconds: [] };
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const headers = { authorization: `Bearer ${token}` };
  const get = async (target: string) => {
    const began = performance.now();
    const sent = request(url + target, { agent, headers }).end();
    const answered = async () => {
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      await once(answer.resume(), 'end');
      return answer.statusCode ?? 0;
    };
    const status = await answered().catch(() => 0);
    asked.statuses[status] = (asked.statuses[status] ?? 0) + 1;
    asked.milliseconds.push(performance.now() - began);
  };
  await Promise.all(
    times(connections, async (connection) => {
      let next = Math.floor((connection * targets.length) / connections);
      while (!isOver()) {
        await get(targets[next % targets.length] ?? '');
        next += 1;
        if (pauseMs > 0) await pause(pauseMs);
      }
    }),
  );
  agent.destroy();
  return asked;
}

if (parentPort !== null && workerData !== null) {
  const { order, over } = workerData as { order: Order; over: Int32Array };
  parentPort.postMessage(await ask(order, () => Atomics.load(over, 0) === 1));
}
