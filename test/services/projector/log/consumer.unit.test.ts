import { EventEmitter } from 'node:events';
import kafkajs, { type ConsumerConfig, type Kafka } from 'kafkajs';
import type { Db } from 'mongodb';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startConsumer } from '#projector/log/consumer.ts';
import { Scheduler } from '#projector/log/scheduler.ts';
import { createMetrics } from '#projector/metrics.ts';
import type { Parts } from '#projector/parts.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** What stands for kafkajs: events that a test emits, and how often it was told to run. */
function kafkaOf() {
  const emitter = new EventEmitter();
  const run = vi.fn(() => Promise.resolve());
  let config: ConsumerConfig | undefined;
  const nothing = () => Promise.resolve();
  const admin = {
    connect: nothing,
    disconnect: nothing,
    fetchTopicMetadata: () => Promise.resolve({ topics: [] }),
  };
  const events = Object.fromEntries(
    ['FETCH_START', 'FETCH', 'GROUP_JOIN', 'CRASH', 'STOP'].map((name) => [name, name]),
  );
  const consumer = {
    events,
    on: (event: string, listener: (event: object) => void) => emitter.on(event, listener),
    connect: nothing,
    subscribe: nothing,
    run,
    disconnect: nothing,
  };
  const kafka = {
    admin: () => admin,
    consumer: (given: ConsumerConfig) => {
      config = given;
      return consumer;
    },
  } as unknown as Kafka;
  const error = new kafkajs.KafkaJSNumberOfRetriesExceeded('nobody is there', {
    retryCount: 8,
    retryTime: 1,
  });
  return {
    kafka,
    run,
    restarts: () => config?.retry?.restartOnFailure?.(error),
    crash: (restart: boolean) => emitter.emit('CRASH', { payload: { error, restart } }),
    join: () => emitter.emit('GROUP_JOIN', { payload: { memberAssignment: { t: [0] }, duration: 1 } }),
  };
}

/** Where nothing is stored, and nothing comes. */
const db = {
  databaseName: 'd',
  collection: () => ({ aggregate: () => ({ toArray: () => Promise.resolve([]) }) }),
} as unknown as Db;

async function started(kafka: Kafka) {
  const config = {
    kafka: { sessionTimeoutMs: 3_000 },
    projector: { sliceEvents: 1, sliceBytes: 1_000, deadLetters: { bytes: 1, days: null } },
  };
  const kafkas = { of: () => kafka };
  const parts = { config, kafkas, databases: {}, control: {}, metrics: createMetrics(), tracing: null };
  return startConsumer(parts as unknown as Parts, {
    environment: 'e',
    topic: 't',
    groupId: 'g',
    db,
    generation: 'g1',
    recoveryHint: '',
    logger: pino({ level: 'silent' }),
    permits: new Scheduler(1, 1).permits({ state: 'live', share: null }),
    checkDatabase: () => Promise.resolve(),
    prepare: () => undefined,
    apply: () => Promise.resolve([]),
  });
}

it('joins again what crashed, also where kafkajs gives up', async () => {
  const { kafka, run, restarts, crash } = kafkaOf();
  const consumer = await started(kafka);
  expect(await restarts()).toBe(true);
  crash(true);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(run).toHaveBeenCalledTimes(1);
  crash(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(run).toHaveBeenCalledTimes(2);
  await consumer.stop();
});

it('does not join again once it is stopped, though it crashes meanwhile or was joining', async () => {
  const { kafka, run, restarts, crash, join } = kafkaOf();
  const consumer = await started(kafka);
  const failed = vi.fn();
  consumer.failed.catch(failed);
  await consumer.stop();
  expect(await restarts()).toBe(false);
  crash(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(run).toHaveBeenCalledTimes(1);
  expect(failed).not.toHaveBeenCalled();
  expect(join).toThrow('the consumer is stopped');
});
