/** Publishes orders steadily or as a backlog, and measures the age of each at its first answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeEvent, changesTopic } from '#shared/events/topics.ts';
import type { Installation, RawMessage } from '#test/installation.ts';
import { times } from '#test/times.ts';
import { percentile } from '../median.ts';
import { orderState } from '../projector/topic.ts';
import { pick } from '../query/stores.ts';

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

export interface Ages {
  events: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
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
      messages.push(newOrder(pick(stores, published)));
    }
    if (messages.length > 0) sending.push(send(topic, messages));
    await sleep(STEP_MS);
  }
  await Promise.all(sending);
}

/** Makes a new order of the store, for which measurements wait. */
function newOrder({ storeId, partition, waiting }: LiveStore): RawMessage {
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
  store: LiveStore,
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
    const messages = times(Math.min(CHUNK, events - from), () => newOrder(store));
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

/**
 * Reads a store's newest orders again and again.
 * @param everyMs the pause between an answer and the next request.
 * @returns a function that stops, and returns the milliseconds from each order's `time` to the
 * answer that showed it.
 */
export function visit(
  url: string,
  token: string,
  { waiting }: LiveStore,
  everyMs: number,
): () => Promise<number[]> {
  const ages: number[] = [];
  const stopping = new AbortController();
  /** @returns the number of new orders on a page. */
  const look = async (page: number): Promise<number> => {
    const response = await fetch(`${url}/api/order/list?page=${page}&page_size=${PAGE_SIZE}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (response.status !== 200) throw new Error(`the order list was answered ${response.status}`);
    const { results } = (await response.json()) as { results: { id: string }[] };
    const now = Date.now();
    const seen = results.flatMap(({ id }) => waiting.get(id) ?? []);
    for (const { id } of results) waiting.delete(id);
    ages.push(...seen.map((time) => now - time));
    return seen.length;
  };
  const misses = () => Date.now() - (waiting.values().next().value ?? Infinity) > MISSED_MS;
  const running = (async () => {
    while (!stopping.signal.aborted) {
      for (let page = 1; page <= MOST_PAGES; page += 1) {
        if ((await look(page)) < PAGE_SIZE && !misses()) break;
      }
      await sleep(everyMs);
    }
  })();
  running.catch(() => undefined);
  return async () => {
    stopping.abort();
    await running;
    return ages;
  };
}

export function agesOf(ages: readonly number[]): Ages {
  const at = (share: number) => percentile(ages, share);
  return { events: ages.length, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) };
}
