/** Publishes a store, an order that changes, and one that is deleted. */
import { randomUUID } from 'node:crypto';
import { Kafka, Partitioners } from 'kafkajs';

/** An entity at one moment: its whole state, or `null` once it is deleted. */
interface Change {
  entity: string;
  id: string;
  /**
   * The entity's version, from the database that it lives in: it grows with every change, and never
   * goes back.
   */
  version: number;
  time: Date;
  data: object | null;
}

const { KAFKA_BROKERS = '127.0.0.1:9092', ENVIRONMENT = 'sandbox', STORE_ID = 's1' } = process.env;
const created_at = new Date(Date.now() - 60_000);
const order = { order_type: 'delivery', total: '39.90', created_at };
const changes: Change[] = [
  {
    entity: 'store',
    id: STORE_ID,
    version: 1,
    time: created_at,
    data: { name: 'Pizzaria Bela', timezone_offset: '-03:00', created_at },
  },
  {
    entity: 'order',
    id: 'o1',
    version: 1,
    time: created_at,
    data: { ...order, status: 'pending' },
  },
  {
    entity: 'order',
    id: 'o2',
    version: 1,
    time: created_at,
    data: { ...order, status: 'pending' },
  },
  { entity: 'order', id: 'o1', version: 2, time: new Date(), data: { ...order, status: 'ready' } },
  { entity: 'order', id: 'o2', version: 2, time: new Date(), data: null },
];

function toEvent({ entity, id, version, time, data }: Change): object {
  return {
    specversion: '1.0',
    id: randomUUID(),
    source: `/pos/${STORE_ID}`,
    type: `store-data.${entity}.${data === null ? 'deleted' : 'changed'}`,
    subject: id,
    storeid: STORE_ID,
    sequence: String(version),
    time,
    ...(data !== null && { datacontenttype: 'application/json', data }),
  };
}

const kafka = new Kafka({
  clientId: 'pos',
  brokers: KAFKA_BROKERS.split(','),
  // A busy machine or a slow line takes longer than the second that the library gives them.
  connectionTimeout: 10_000,
});
const producer = kafka.producer({
  // Idempotent: what is sent again after a lost answer is there once, and in order.
  idempotent: true,
  allowAutoTopicCreation: false,
  createPartitioner: Partitioners.DefaultPartitioner,
});
await producer.connect();
try {
  await producer.send({
    topic: `store-changes.${ENVIRONMENT}`,
    acks: -1,
    messages: changes.map((change) => ({
      // One store's events are one partition's, so that they stay in order.
      key: STORE_ID,
      value: JSON.stringify(toEvent(change)),
      headers: { 'content-type': 'application/cloudevents+json' },
    })),
  });
  process.stdout.write(`${changes.length} events are in Kafka\n`);
} finally {
  await producer.disconnect();
}
