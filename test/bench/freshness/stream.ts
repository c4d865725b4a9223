/** Publishes orders steadily or as a backlog, and measures the age of each at its first answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeEvent, changesTopic } from '#shared/events/topics.ts';
import type { Installation, RawMessage } from '#test/installation.ts';
import { percentile } from '../median.ts';
import { orderState } from '../projector/topic.ts';

const STEP_MS = 10;

/** A store with its own partition. */
export interface LiveStore {
  storeId: string;
  partition: number;
  /**
   * The publishing times of orders that no answer has shown yet, by id; milliseconds since 1970.
   */
  waiting: Map<string, number>;
}

/** Makes stores for the first partitions. */
export function liveStores(number: number): LiveStore[] {
  return Array.from({ length: number }, (_, partition) => {
    return { storeId: `live-${partition}`, partition, waiting: new Map<string, number>() };
  });
}

export interface Ages {
  events: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

export function agesOf(ages: readonly number[]): Ages {
  const at = (share: number) => percentile(ages, share);
  return { events: ages.length, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) };
}

/** The ages of records that a client sees for the first time. */
export function agesSeen({ waiting }: LiveStore, results: readonly { id: string }[]): number[] {
  const now = Date.now();
  return results.flatMap(({ id }) => {
    const time = waiting.get(id);
    waiting.delete(id);
    return time === undefined ? [] : [now - time];
  });
}

export function agesInWords({ p50_ms, p99_ms, max_ms }: Ages): string {
  return `p50 ${p50_ms} ms, p99 ${p99_ms} ms, slowest ${max_ms} ms`;
}

let made = 0;

/** Publishes `rate` orders a second of all stores in turn. */
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

/** Makes a new order of the store, for which measurements wait. */
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

const CHUNK = 1_000;
const TRANSACTION_MS = 300_000;

/** Publishes new orders of a store in an open transaction. @returns a function that commits it. */
export async function holdBack(
  { kafka, environment }: Installation,
  store: { storeId: string; partition: number },
  events: number,
): Promise<() => Promise<void>> {
  const producer = kafka.producer({
    transactionalId: `${environment}-backlog`,
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout: TRANSACTION_MS,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  for (let from = 0; from < events; from += CHUNK) {
    const messages = Array.from({ length: Math.min(CHUNK, events - from) }, (_, index) => ({
      ...encodeEvent({
        entity: 'order',
        storeId: store.storeId,
        subject: `late${from + index}`,
        sequence: 1,
        data: orderState(from + index, 1),
        source: '/bench',
      }),
      partition: store.partition,
    }));
    await transaction.send({ topic: changesTopic(environment), messages });
  }
  return async () => {
    await transaction.commit();
    await producer.disconnect();
  };
}

const PAGE_SIZE = 50;
/** An order may be listed after later ones; after this time a client also reads further pages. */
const MISSED_MS = 500;
const MOST_PAGES = 20;

export interface Visiting {
  /** Milliseconds from each order's `time` to the answer that showed it. */
  ages: number[];
  stop: () => Promise<void>;
}

/** @param everyMs the pause between an answer and the next request. */
export function visit(url: string, token: string, store: LiveStore, everyMs: number): Visiting {
  const ages: number[] = [];
  const stopping = new AbortController();
  /** @returns the number of new orders on a page. */
  const look = async (page: number): Promise<number> => {
    const response = await fetch(`${url}/api/order/list?page=${page}&page_size=${PAGE_SIZE}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (response.status !== 200) throw new Error(`the order list was answered ${response.status}`);
    const { results } = (await response.json()) as { results: { id: string }[] };
    const seen = agesSeen(store, results);
    ages.push(...seen);
    return seen.length;
  };
  const misses = () => Date.now() - (store.waiting.values().next().value ?? Infinity) > MISSED_MS;
  const running = (async () => {
    while (!stopping.signal.aborted) {
      for (let page = 1; page <= MOST_PAGES; page += 1) {
        if ((await look(page)) < PAGE_SIZE && !misses()) break;
      }
      await sleep(everyMs);
    }
  })();
  running.catch(() => undefined);
  return {
    ages,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
