/**
 * Messages of aborted transactions have no effect, with any number of producers and order of ends.
 */
import { randomUUID } from 'node:crypto';
import type { Transaction } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useInstallation, useRestartableProjector } from '#test/hooks.ts';
import { Servers } from '#admin/servers.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { orderMessage } from '#test/events.ts';
import { type Installation } from '#test/installation.ts';
import { caughtUp, idsIn, readModels } from '#test/read-models.ts';
import { runCommand, runJson } from '../admin/run-command.ts';

const order = (subject: string, notes = '') => orderMessage(subject, { data: { notes } });

/** Transactions of several producers, one at a time each. */
class Producers {
  readonly #installation: Installation;
  readonly #producers: {
    transaction: () => Promise<Transaction>;
    disconnect: () => Promise<void>;
  }[] = [];

  constructor(installation: Installation) {
    this.#installation = installation;
  }

  async begin(): Promise<Transaction> {
    const producer = this.#installation.kafka.producer({
      transactionalId: randomUUID(),
      maxInFlightRequests: 1,
      idempotent: true,
    });
    await producer.connect();
    this.#producers.push(producer);
    return producer.transaction();
  }

  async close(): Promise<void> {
    await Promise.all(this.#producers.map((producer) => producer.disconnect()));
  }
}

describe('transactions that were aborted', () => {
  // A slice holds one or two of the batches below.
  const installation = useInstallation({
    partitions: 1,
    settings: { PROJECTOR_SLICE_BYTES: '65536' },
  });
  const producers = new Producers(installation);
  afterAll(() => producers.close());
  const projector = useRestartableProjector(installation);
  let topic: string;
  beforeAll(() => {
    topic = changesTopic(installation.environment);
  });

  const send = (transaction: Transaction, ...subjects: string[]) =>
    transaction.send({ topic, messages: subjects.map((subject) => order(subject)) });
  const orders = async () =>
    (await idsIn(await readModels(installation), 'orders')).map((id) => id.slice('s1/'.length));

  it('have no effect if the later one ends first, or four end in reverse order', async () => {
    await projector.start();
    const [first, second] = [await producers.begin(), await producers.begin()];
    await send(first, 'a1');
    await send(second, 'a2');
    await second.abort();
    await send(first, 'a3');
    await first.abort();
    const four = [];
    for (let index = 0; index < 4; index += 1) {
      const transaction = await producers.begin();
      await send(transaction, `b${index}`);
      four.push(transaction);
    }
    for (const transaction of four.toReversed()) await transaction.abort();
    // The log ends with aborted messages, and is applied to its end.
    await caughtUp(installation);
    expect(await orders()).toEqual([]);

    const kept = await producers.begin();
    await send(kept, 'a1', 'b3');
    await kept.commit();
    // Kafka acknowledges a commit before its marker is in the log. Until then readers see an
    // earlier end.
    await expect.poll(orders, { timeout: 60_000 }).toEqual(['a1', 'b3']);
    await caughtUp(installation);
    const lag = await runJson<{ partitions: { topic: string; lag: number }[] }>(installation.env, [
      'lag',
    ]);
    expect(lag.partitions.filter((one) => one.topic === topic)).toMatchObject([{ lag: 0 }]);
  });

  it('have no effect on a rebuild, a verification or a retry', async () => {
    const { environment, env } = installation;
    const before = await orders();
    expect(await runCommand(env, ['rebuild', '--environment', environment])).toMatchObject({
      code: 0,
    });
    expect(await orders()).toEqual(before);
    expect(await runCommand(env, ['verify', '--deep', '--environment', environment])).toMatchObject(
      {
        code: 0,
      },
    );

    const servers = new Servers({ config: installation.config, origin: 'the test' });
    const reader = await servers.logReader(topic);
    const [[partition, { end }] = [0, { end: 0 }]] = await reader.bounds();
    const read: number[] = [];
    await reader.read({ partition, from: 0, to: end }, (messages) => {
      read.push(...messages.map(({ offset }) => Number(offset)));
    });
    // The last offset belongs to a marker.
    await reader.read({ partition, from: end - 1, to: end }, (messages) => {
      expect(messages).toEqual([]);
    });
    await servers.close();
    expect(new Set(read).size).toBe(read.length);
    expect(read).toHaveLength(before.length);
  });
});
