import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createMetrics } from '#query/metrics.ts';
import { Admission } from '#query/overload/admission.ts';
import { createLogger } from '#shared/logging.ts';

/** Lets twenty in. */
const LATENCY_MS = 2;

class Response extends EventEmitter {
  status = 0;
  writableEnded = false;
  writableNeedDrain = false;
  writeHead(status: number) {
    this.status = status;
  }
  end() {
    this.writableEnded = true;
  }
}

function start() {
  const begun: Response[] = [];
  const admission = new Admission(LATENCY_MS, createMetrics(), createLogger('query', 'silent'));
  const listener = admission.before((_, response) => begun.push(response as never));
  const ask = (url = '/api/order/list') => {
    const response = new Response();
    listener({ url, headers: {} } as IncomingMessage, response as unknown as ServerResponse);
    return response;
  };
  return { begun, ask };
}

const many = (count: number, ask: () => Response) => Array.from({ length: count }, ask);
const refusedIn = (responses: Response[]) => responses.filter(({ status }) => status === 503);

it('begins sixteen in a turn of the event loop, and the next ones in the next', async () => {
  const { begun, ask } = start();
  const asked = many(20, ask);
  expect(begun).toEqual(asked.slice(0, 16));
  await nextTurn();
  expect(begun).toEqual(asked);
});

it('begins no more in a turn because many were refused in the one before', async () => {
  const { begun, ask } = start();
  expect(refusedIn(many(1_000, ask))).toHaveLength(980);
  await nextTurn();
  expect(begun).toHaveLength(20);
  for (const response of begun) response.emit('close');
  // Four of this turn are begun.
  expect(refusedIn(many(20, ask))).toEqual([]);
  expect(begun).toHaveLength(20 + 12);
  await nextTurn();
  expect(begun).toHaveLength(40);
});

it('refuses those that come when all places are taken, and nothing of them is begun', async () => {
  const { begun, ask } = start();
  const [first] = many(20, ask);
  await nextTurn();
  const refused = ask();
  expect([refused.status, refused.writableEnded]).toEqual([503, true]);
  first?.emit('close');
  expect(ask().status).toBe(0);
  await nextTurn();
  expect(begun).toHaveLength(21);
  expect(begun).not.toContain(refused);
});

it('does not begin one whose client has gone meanwhile', async () => {
  const { begun, ask } = start();
  const asked = many(17, ask);
  asked[16]?.emit('close');
  await nextTurn();
  expect(begun).toHaveLength(16);
});

it('lets /health in, however many are in flight', () => {
  const { begun, ask } = start();
  many(1_000, ask);
  const health = ask('/health?x=1');
  expect(health.status).toBe(0);
  expect(begun.at(-1)).toBe(health);
});
