/** A connection of kafkajs on which nothing waits lets the process sleep, and what waits is sent all the same. */
import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { quietRequestQueues } from '#shared/kafka/connection.ts';

interface Queue {
  pending: unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: unknown;
  push: (request: object) => void;
  fulfillRequest: (answer: object) => void;
  destroy: () => void;
}

quietRequestQueues();
const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as new (
  options: object,
) => Queue;

let queue: Queue;
beforeEach(() => {
  const logger = { debug: () => undefined };
  queue = new RequestQueue({ maxInFlightRequests: null, requestTimeout: 1_000, logger });
});
afterEach(() => queue.destroy());

/** Asks something; resolves once it is sent. */
async function ask(correlationId: number, resolve = () => undefined): Promise<void> {
  await new Promise<void>((sent) => {
    queue.push({ entry: { correlationId, resolve }, expectResponse: true, sendRequest: sent });
  });
}

it('an answer sets no timer where nothing waits', async () => {
  await ask(1);
  expect(queue.throttleCheckTimeoutId).toBeNull();
  const answered = new Promise<void>((resolve) => {
    void ask(2, () => resolve() as undefined);
  });
  for (const correlationId of [1, 2]) queue.fulfillRequest({ correlationId, payload: null, size: 0 });
  await answered;
  expect(queue.throttleCheckTimeoutId).toBeNull();
});

it('what waits for a throttling broker is sent once that is over', async () => {
  queue.throttledUntil = Date.now() + 50;
  const sent = ask(1);
  expect(queue.pending).toHaveLength(1);
  await sent;
  expect(Date.now()).toBeGreaterThanOrEqual(queue.throttledUntil);
  expect([queue.pending.length, queue.throttleCheckTimeoutId]).toEqual([0, null]);
});
