/** How soon the events of ordinary stores are shown, while something else happens. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { expect } from 'vitest';
import { COLLECTIONS, type OrderDocument } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { unlessUnavailable } from '#test/read-models.ts';
import type { StreamEvent } from '#test/streams.ts';
import { percentile } from '../bench/median.ts';
import { note } from './results.ts';

const STORES = 10;
const EVERY_MS = 50;
const LOOK_MS = 10;

/** Of all that were published: each is a new one. */
let published = 0;

interface Freshness {
  /** In how many milliseconds each event was shown. */
  ages: number[];
  /** That of ninety-nine of a hundred, in milliseconds. */
  p99: number;
}

/**
 * Lets orders of ten stores flow, twenty a second, until the function that it returns is called; that one waits until all are shown.
 * @param order the event of an order of a store.
 */
function watchFreshness(
  installation: Installation,
  db: Db,
  order: (storeId: string, index: number) => StreamEvent,
): () => Promise<Freshness> {
  const over = new AbortController();
  const waiting = new Map<string, number>();
  const ages: number[] = [];
  const publishing = (async () => {
    const sent: Promise<void>[] = [];
    for (; !over.signal.aborted; published += 1) {
      const event = order(`neighbour${published % STORES}`, published);
      waiting.set(`${event.storeId}/${event.subject}`, performance.now());
      sent.push(installation.publish([event]));
      await sleep(EVERY_MS);
    }
    await Promise.all(sent);
  })();
  const looking = (async () => {
    while (!over.signal.aborted || waiting.size > 0) {
      // As the query service reads.
      const shown = await db
        .collection<OrderDocument>(COLLECTIONS.order)
        .find({ _id: { $in: [...waiting.keys()] } }, { projection: { _id: 1 }, readConcern: 'snapshot' })
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
    return { ages, p99: percentile(ages, 0.99) };
  };
}

/** What ninety-nine of a hundred of the neighbours' events take at most until they are shown. */
const BOUND_MS = 500;
const WATCHED_MS = 20_000;

/** Does something while orders of neighbours flow, notes how soon they were shown before and meanwhile, and checks that it was as soon. */
export async function staysFresh(
  fault: string,
  watched: Parameters<typeof watchFreshness>,
  act: () => Promise<void>,
): Promise<void> {
  const endBefore = watchFreshness(...watched);
  await sleep(WATCHED_MS);
  const before = await endBefore();
  const end = watchFreshness(...watched);
  await act();
  const meanwhile = await end();
  for (const [when, { p99, ages }] of Object.entries({ before, meanwhile })) {
    const what = `${fault}: a neighbour's event is shown, ${when} (p99 ${Math.round(p99)} ms)`;
    note({ fault: what, recoveriesMs: ages, boundMs: BOUND_MS, events: ages.length });
  }
  // A machine on which they take that long without a fault shows nothing but that they do not take much longer.
  expect(meanwhile.p99).toBeLessThan(Math.max(BOUND_MS, 1.5 * before.p99));
}
