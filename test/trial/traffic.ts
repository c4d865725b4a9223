/**
 * Sends messages as publishers do: plain, idempotent or in transactions, mixed with messages of
 * transactions that are aborted. Keeps the order of valid events.
 */
import type { Message, Transaction } from 'kafkajs';
import type { Chance } from '#local/simulator/random.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { createProducer } from '#shared/kafka/client.ts';
import type { Installation, RawMessage } from '#test/installation.ts';
import { times } from '#test/times.ts';
import { newest, poison } from './poison.ts';
import type { Tally } from './tally.ts';

const EXACT = { idempotent: true, maxInFlightRequests: 1 };

/** Connects producers, which know the topic's present partitions. */
export async function openTraffic({ kafka, environment }: Installation, tally: Tally) {
  const topic = changesTopic(environment);
  const transactional = (at: number) =>
    kafka.producer({ ...EXACT, transactionalId: `${topic}-${at}`, allowAutoTopicCreation: false });
  const plain = [createProducer(kafka), kafka.producer(EXACT)];
  const own = transactional(0);
  const others = [1, 2, 3].map(transactional);
  const all = [...plain, own, ...others];
  for (const producer of all) await producer.connect();

  const abort = async (chance: Chance, some: Transaction[]) => {
    for (const one of chance.helpers.shuffle(some)) {
      await one.abort();
      tally.aborted += 1;
    }
  };
  return {
    /** Sends messages in order, mixed with messages that must have no effect. */
    async send(chance: Chance, messages: Message[]): Promise<void> {
      const mixed = chance.helpers.arrayElements(others, { min: 0, max: others.length });
      const decoys = await Promise.all(mixed.map((one) => one.transaction()));
      for (const one of decoys) await one.send({ topic, messages: someDecoys(chance) });
      const half = chance.number.int({ max: decoys.length });
      if (chance.datatype.boolean()) {
        const transaction = await own.transaction();
        await transaction.send({ topic, messages });
        await abort(chance, decoys.slice(0, half));
        await transaction.commit();
        tally.transactions += 1;
      } else {
        await chance.helpers.arrayElement(plain).send({ topic, messages });
        await abort(chance, decoys.slice(0, half));
      }
      await abort(chance, decoys.slice(half));
    },
    async close(): Promise<void> {
      for (const producer of all) await producer.disconnect();
    },
  };
}

function someDecoys(chance: Chance): RawMessage[] {
  return times(chance.number.int({ min: 1, max: 5 }), () =>
    chance.datatype.boolean()
      ? newest(chance.helpers.arrayElement(['s1', 's2']))
      : poison(chance, 's1'),
  );
}
