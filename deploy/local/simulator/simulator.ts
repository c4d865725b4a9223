/** The simulator: stores that publish their past, and then what happens in them, through Kafka like any other source. */
import { createProducer, type Kafka } from '#shared/kafka/client.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { asMessage, type SimulatedEvent } from './event.ts';
import { history } from './history.ts';
import { simulatedStore } from './store.ts';
import { traffic } from './traffic.ts';

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

/** How much is published; `orders` are those of the events that are orders. */
export type Published = { events: number; orders: number };

export type Simulator = Awaited<ReturnType<typeof createSimulator>>;

/** How many times fewer orders the other environments have. */
const QUIETER = 10;
/** Stores that publish their history side by side: they spread over the partitions. */
const LANES = 6;
/** Small enough for one request to Kafka, large enough to be worth it. */
const EVENTS_PER_BATCH = 250;

/** Connects to Kafka and makes the stores. */
export async function createSimulator(options: SimulatorOptions) {
  const { kafka, seed, environments } = options;
  const now = Date.now();
  const stores = Array.from({ length: options.stores }, (_, index) => simulatedStore(seed, index));
  const places = environments.map((environment, index) => ({
    environment,
    orders: index === 0 ? options.history : Math.ceil(options.history / QUIETER),
    ordersPerMinute:
      (options.ordersPerMinute * (index === 0 ? QUIETER - environments.length + 1 : 1)) / QUIETER,
  }));
  const producer = createProducer(kafka);
  await producer.connect();
  const stopping = new AbortController();
  let flows: PeriodicTask[] = [];

  const send = async (environment: string, events: readonly SimulatedEvent[]) => {
    await producer.send({ topic: changesTopic(environment), messages: events.map(asMessage) });
  };
  return {
    stores,
    /** Orders that the history consists of, all stores and environments together. */
    historyOrders: places.reduce((sum, { orders }) => sum + orders, 0) * stores.length,

    /** Publishes the history; the callback receives how much of it is published so far. */
    async publishHistory(progress: (published: Published) => void): Promise<void> {
      const published: Published = { events: 0, orders: 0 };
      const waiting = stores.flatMap((store) => places.map((place) => ({ store, ...place }))).values();
      const lane = async () => {
        for (const { store, environment, orders } of waiting) {
          const events = [...history({ seed, environment, store, now }, orders)];
          for (let start = 0; start < events.length && !stopping.signal.aborted; start += EVENTS_PER_BATCH) {
            const batch = events.slice(start, start + EVENTS_PER_BATCH);
            await send(environment, batch);
            published.events += batch.length;
            published.orders += batch.filter(({ entity }) => entity === 'order').length;
            progress(published);
          }
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
    },

    /** New orders come in from now on; what Kafka does not take for now is published later. */
    startTraffic(): void {
      if (stores.length === 0) return;
      flows = places.map(({ environment, orders: history, ordersPerMinute }) => {
        const began = Date.now();
        const since = traffic({ seed, environment, now, stores, history, ordersPerMinute, began });
        let unsent: SimulatedEvent[] = [];
        const run = async () => {
          unsent.push(...since(Date.now()));
          if (unsent.length > 0) await send(environment, unsent);
          unsent = [];
        };
        return new PeriodicTask({ run, everyMs: 100, retryMs: 1_000, failed: options.onTrouble });
      });
    },

    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(flows.map((flow) => flow.stop()));
      await producer.disconnect();
    },
  };
}
