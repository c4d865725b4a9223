/** The simulator: stores that publish their past, and then what happens in them, through Kafka like any other source. */
import type { Kafka, Producer } from 'kafkajs';
import { createProducer } from '#shared/kafka.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { CouponUsage } from './entities/coupon.ts';
import { simulatedStore, type SimulatedStore } from './entities/store.ts';
import { asMessage, type SimulatedEvent } from './event.ts';
import { history } from './history.ts';
import { Traffic } from './traffic.ts';

export interface SimulatorOptions {
  kafka: Kafka;
  /** The first is the lively one; the others get a tenth of its orders. */
  environments: readonly string[];
  seed: number;
  stores: number;
  /** Orders that each store has behind it. */
  history: number;
  /** New orders of all stores and environments together. */
  ordersPerMinute: number;
  /** Told when events cannot be published for now. */
  onTrouble: (error: unknown) => void;
}

export interface Published {
  events: number;
  /** Those of them that are orders. */
  orders: number;
}

export interface Simulator {
  stores: readonly SimulatedStore[];
  /** Orders that the history consists of, all stores and environments together. */
  historyOrders: number;
  /** Publishes the history, and tells how much of it is published so far. */
  publishHistory: (progress: (published: Published) => void) => Promise<void>;
  startTraffic: () => void;
  stop: () => Promise<void>;
}

/** How many times fewer orders the other environments have. */
const QUIETER = 10;
/** Stores that publish their history side by side: they spread over the partitions. */
const LANES = 6;
const TICK_MS = 100;
const RETRY_MS = 1_000;

/** Connects to Kafka and makes the stores. */
export async function createSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { kafka, seed, environments } = options;
  const now = Date.now();
  const stores = Array.from({ length: options.stores }, (_, index) => simulatedStore(seed, index));
  const places = environments.map((environment, place) => ({
    environment,
    orders: place === 0 ? options.history : Math.ceil(options.history / QUIETER),
    ordersPerMinute:
      options.ordersPerMinute * (place === 0 ? 1 - (environments.length - 1) / QUIETER : 1 / QUIETER),
    usage: new CouponUsage(),
  }));
  const producer = createProducer(kafka);
  await producer.connect();
  const stopping = new AbortController();
  let flows: PeriodicTask[] = [];

  return {
    stores,
    historyOrders: places.reduce((sum, { orders }) => sum + orders, 0) * stores.length,

    async publishHistory(progress) {
      const published: Published = { events: 0, orders: 0 };
      const waiting = stores.flatMap((store) => places.map((place) => ({ store, ...place }))).values();
      const lane = async () => {
        for (const { store, environment, orders, usage } of waiting) {
          for (const batch of history({ seed, environment, store, now, orders, usage })) {
            if (stopping.signal.aborted) return;
            await send(producer, environment, batch);
            published.events += batch.length;
            published.orders += batch.filter(({ entity }) => entity === 'order').length;
            progress(published);
          }
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
    },

    startTraffic() {
      if (stores.length === 0) return;
      const began = Date.now();
      flows = places.map(({ environment, orders, ordersPerMinute, usage }) => {
        const traffic = new Traffic({
          seed,
          environment,
          stores,
          history: orders,
          epoch: now,
          usage,
          ordersPerMinute,
          now: began,
        });
        return letFlow(producer, environment, traffic, options.onTrouble);
      });
    },

    async stop() {
      stopping.abort();
      await Promise.all(flows.map((flow) => flow.stop()));
      await producer.disconnect();
    },
  };
}

/** Publishes what happens, and what could not be published before. */
function letFlow(
  producer: Producer,
  environment: string,
  traffic: Traffic,
  failed: (error: unknown) => void,
): PeriodicTask {
  let unsent: SimulatedEvent[] = [];
  return new PeriodicTask({
    run: async () => {
      unsent.push(...traffic.until(Date.now()));
      if (unsent.length > 0) await send(producer, environment, unsent);
      unsent = [];
    },
    everyMs: TICK_MS,
    retryMs: RETRY_MS,
    failed,
  });
}

async function send(
  producer: Producer,
  environment: string,
  events: readonly SimulatedEvent[],
): Promise<void> {
  await producer.send({ topic: changesTopic(environment), messages: events.map(asMessage) });
}
