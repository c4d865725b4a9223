/** A steady stream of new orders: each is published at the moment that its `time` tells. */
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeEvent } from '#shared/events/encode.ts';
import { changesTopic } from '#shared/events/topics.ts';
import type { Installation, RawMessage } from '#test/installation.ts';
import { orderState } from '../projector/topic/order.ts';

const STEP_MS = 10;

/** A store whose orders go to a partition of their own. */
export interface LiveStore {
  storeId: string;
  partition: number;
  /** When each order that is not yet seen was published, by its id; milliseconds since 1970. */
  waiting: Map<string, number>;
}

let made = 0;

/** Publishes `rate` orders a second, to one store after the other, for so many seconds. */
export async function publishSteadily(
  { send, environment }: Installation,
  stores: readonly LiveStore[],
  { rate, seconds }: { rate: number; seconds: number },
): Promise<void> {
  const topic = changesTopic(environment);
  const sending: Promise<void>[] = [];
  const began = performance.now();
  let published = 0;
  while (published < rate * seconds) {
    const due = Math.min(rate * seconds, Math.ceil(((performance.now() - began) * rate) / 1_000));
    const messages: RawMessage[] = [];
    for (; published < due; published += 1) {
      const store = stores[published % stores.length];
      if (store !== undefined) messages.push(newOrder(store));
    }
    if (messages.length > 0) sending.push(send(topic, messages));
    await sleep(STEP_MS);
  }
  await Promise.all(sending);
}

/** A new order of the store, which happens now and is waited for from now on. */
export function newOrder({ storeId, partition, waiting }: LiveStore): RawMessage {
  made += 1;
  const subject = `live${made}`;
  const time = new Date();
  const at = time.toISOString();
  waiting.set(subject, time.getTime());
  const data = { ...orderState(made, 1), created_at: at, updated_at: at };
  const event = { entity: 'order', storeId, subject, sequence: 1, data, time, source: '/bench' };
  return { ...encodeEvent(event), partition };
}
