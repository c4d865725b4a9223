/** The simulator: stores that publish their past, and then what happens in them, through Kafka like any other source. */
import type { Kafka, Producer } from 'kafkajs';
import { setTimeout as sleep } from 'node:timers/promises';
import { changesTopic } from '#shared/events/topics.ts';
import { simulatedStore, type SimulatedStore } from './entities/store.ts';
import { asMessage, type SimulatedEvent } from './event.ts';
import { history, historyLength } from './history.ts';
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

export interface Simulator {
  stores: readonly SimulatedStore[];
  /** Events that the history consists of. */
  historyEvents: number;
  /** Publishes the history, and tells how many events it has published so far. */
  publishHistory: (progress: (published: number) => void) => Promise<void>;
  /** Begins the living flow. */
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
  const historyOf = (place: number) => (place === 0 ? options.history : Math.ceil(options.history / QUIETER));
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const stopping = new AbortController();
  let flowing: Promise<unknown> = Promise.resolve();

  return {
    stores,
    historyEvents: environments
      .map((_, place) => stores.length * historyLength(historyOf(place)))
      .reduce((sum, events) => sum + events, 0),

    async publishHistory(progress) {
      let published = 0;
      const waiting = stores
        .flatMap((store) => environments.map((environment, place) => ({ store, environment, place })))
        .values();
      const lane = async () => {
        for (const { store, environment, place } of waiting) {
          for (const batch of history({ seed, environment, store, now }, historyOf(place))) {
            if (stopping.signal.aborted) return;
            await send(producer, environment, batch);
            published += batch.length;
            progress(published);
          }
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
    },

    startTraffic() {
      if (stores.length === 0) return;
      const began = Date.now();
      flowing = Promise.all(
        environments.map((environment, place) => {
          const share = place === 0 ? 1 - (environments.length - 1) / QUIETER : 1 / QUIETER;
          const traffic = new Traffic({
            seed,
            environment,
            stores,
            history: historyOf(place),
            ordersPerMinute: options.ordersPerMinute * share,
            now: began,
          });
          return flow(producer, environment, traffic, stopping.signal, options.onTrouble);
        }),
      );
    },

    async stop() {
      stopping.abort();
      await flowing;
      await producer.disconnect();
    },
  };
}

async function flow(
  producer: Producer,
  environment: string,
  traffic: Traffic,
  stopping: AbortSignal,
  onTrouble: (error: unknown) => void,
): Promise<void> {
  let unsent: SimulatedEvent[] = [];
  while (!stopping.aborted) {
    unsent.push(...traffic.until(Date.now()));
    let pause = TICK_MS;
    try {
      if (unsent.length > 0) await send(producer, environment, unsent);
      unsent = [];
    } catch (error) {
      if (stopping.aborted) return;
      onTrouble(error);
      pause = RETRY_MS;
    }
    await sleep(pause, undefined, { signal: stopping }).catch(() => undefined);
  }
}

async function send(
  producer: Producer,
  environment: string,
  events: readonly SimulatedEvent[],
): Promise<void> {
  await producer.send({ topic: changesTopic(environment), messages: events.map(asMessage) });
}
