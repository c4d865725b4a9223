/**
 * A process that asks at a steady rate. A request goes out when its time has come, not when the one before was
 * answered: otherwise slow answers would hide the wait of those that could not be asked meanwhile.
 */
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Visit, VisitOrder, VisitReply } from './messages.ts';

const agent = new Agent({ keepAlive: true, maxSockets: 50 });
const TICK_MS = 2;

process.on('message', (order: VisitOrder) => {
  visit(order).then(
    (reply: VisitReply) => process.send?.(reply),
    (error: unknown) => process.send?.({ failed: String(error) } satisfies VisitReply),
  );
});

async function visit({ url, token, rate, seconds }: VisitOrder): Promise<Visit> {
  const answers: Promise<{ status: number; milliseconds: number }>[] = [];
  const began = performance.now();
  while (answers.length < rate * seconds) {
    const due = ((performance.now() - began) * rate) / 1_000;
    while (answers.length < Math.min(due, rate * seconds)) {
      answers.push(ask(url, token, began + (answers.length * 1_000) / rate));
    }
    await sleep(TICK_MS);
  }
  const reply: Visit = { milliseconds: [], statuses: {} };
  for (const { status, milliseconds } of await Promise.all(answers)) {
    reply.milliseconds.push(milliseconds);
    reply.statuses[status] = (reply.statuses[status] ?? 0) + 1;
  }
  return reply;
}

/** @param due when it should have been sent: what the tick cost counts on neither side, both have it. */
function ask(url: string, token: string, due: number): Promise<{ status: number; milliseconds: number }> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, milliseconds: performance.now() - due }),
      );
    }).on('error', reject);
  });
}
