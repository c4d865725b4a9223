/** The freshness of ordinary stores during a fault. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { expect } from 'vitest';
import { COLLECTIONS, type OrderDocument } from '#shared/read-models/collections.ts';
import { pause } from '#shared/waiting.ts';
import { orderEvent } from '#test/events.ts';
import type { Installation } from '#test/installation.ts';
import { unlessUnavailable } from '#test/read-models.ts';
import type { StreamEvent } from '#test/streams.ts';
import { percentile } from '../bench/median.ts';
import { note } from './results.ts';

/** Of the customer whom orders name. */
export const NAME = 'Consumidor Final';
const STORES = 10;
const EVERY_MS = 50;
const LOOK_MS = 10;

/** The running number of the next event. */
let published = 0;

/**
 * Publishes twenty orders a second of ten stores.
 * @returns a function that stops publishing, waits until all orders are visible, and returns the
 * milliseconds that each took.
 */
function watchFreshness(
  { publish }: Installation,
  db: Db,
  order: (storeId: string, index: number) => StreamEvent,
): () => Promise<number[]> {
  const over = new AbortController();
  const waiting = new Map<string, number>();
  const ages: number[] = [];
  const publishing = (async () => {
    const sent: Promise<void>[] = [];
    do {
      const event = order(`neighbour${published % STORES}`, published);
      waiting.set(`${event.storeId}/${event.subject}`, performance.now());
      sent.push(publish([event]));
      published += 1;
    } while (await pause(EVERY_MS, over.signal));
    await Promise.all(sent);
  })();
  // The query service reads snapshots.
  const options = { projection: { _id: 1 }, readConcern: 'snapshot' } as const;
  const looking = (async () => {
    while (!over.signal.aborted || waiting.size > 0) {
      const shown = await db
        .collection<OrderDocument>(COLLECTIONS.order)
        .find({ _id: { $in: [...waiting.keys()] } }, options)
        .toArray()
        .catch(unlessUnavailable);
      for (const { _id } of shown) {
        ages.push(performance.now() - (waiting.get(_id) ?? 0));
        waiting.delete(_id);
      }
      await sleep(LOOK_MS);
    }
  })();
  return async () => {
    over.abort();
    await Promise.all([publishing, looking]);
    return ages;
  };
}

/** The bound of the neighbours' 99th percentile. */
const BOUND_MS = 500;
const WATCHED_MS = 20_000;

/**
 * Runs `work` while neighbours publish orders. Notes their freshness before and during it, and
 * asserts that it stays the same.
 */
export async function staysFresh(
  fault: string,
  watched: Parameters<typeof watchFreshness>,
  act: () => Promise<void>,
): Promise<void> {
  const p99Of = async (when: string, work: () => Promise<unknown>) => {
    const end = watchFreshness(...watched);
    await work();
    const ages = await end();
    note(`${fault}: a neighbour's event is shown, ${when}`, ages, BOUND_MS, ages.length);
    return percentile(ages, 0.99);
  };
  const before = await p99Of('before', () => sleep(WATCHED_MS));
  // On a machine that is this slow without a fault, assert only that they are not much slower.
  expect(await p99Of('meanwhile', act)).toBeLessThan(Math.max(BOUND_MS, 1.5 * before));
}

/** An order that names a customer. */
export function namingOrder(
  storeId: string,
  index: number,
  sequence = 1,
): ReturnType<typeof orderEvent> {
  return orderEvent(`o${index}`, {
    storeId,
    sequence,
    data: {
      items: [
        { product_id: 'p1', name: 'Pastel', quantity: 3, unit_price: '13.30', total: '39.90' },
      ],
      customer: { id: 'c1', name: NAME },
      created_at: new Date(Date.UTC(2026, 2, 1) + index * 1_000).toISOString(),
    },
  });
}
