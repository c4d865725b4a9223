/**
 * Sends messages in every way of publishers: plain, in transactions mixed with aborted ones,
 * idempotent, and in hand-made record batches. Keeps the order of valid events, and notes expected
 * dead letters.
 */
import zlib from 'node:zlib';
import kafkajs, { type Message, type Producer } from 'kafkajs';
import { encodeEvent, type EventToEncode, changesTopic } from '#shared/events/topics.ts';
import { pack } from '#test/codecs.ts';
import { createProducer } from '#shared/kafka/client.ts';
import type { Chance } from '#local/simulator/random.ts';
import { orderMessage } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { type Installation, type RawMessage } from '#test/installation.ts';
import { produceRaw } from '#test/raw-produce.ts';
import {
  type BatchToEncode,
  encodeBatch,
  encodeRecord,
  type RecordToEncode,
} from '#test/record-batches.ts';
import { withAdmin } from '#test/topics.ts';
import type { Tally } from './tally.ts';
import { poison } from './poison.ts';

const MIB = 1_048_576;
const PRODUCERS = 4;
export class Traffic {
  /** The positions of batches that become dead letters, as `<partition>/<offset>`. */
  readonly #poisonBatches: Set<string>;
  readonly #installation: Installation;
  readonly #topic: string;
  readonly #tally: Tally;
  #partitions = 0;
  #plain: Producer[] = [];
  #transactional: Producer[] = [];

  constructor(installation: Installation, tally: Tally, poisonBatches: Set<string>) {
    this.#installation = installation;
    this.#topic = changesTopic(installation.environment);
    this.#tally = tally;
    this.#poisonBatches = poisonBatches;
  }

  /** Connects producers, which know the topic's present partitions. */
  async open(): Promise<void> {
    const { kafka } = this.#installation;
    const { topics } = await withAdmin(kafka, (admin) =>
      admin.fetchTopicMetadata({ topics: [this.#topic] }),
    );
    this.#partitions = topics[0]?.partitions.length ?? 0;
    this.#plain = [
      createProducer(kafka),
      kafka.producer({ idempotent: true, maxInFlightRequests: 1 }),
    ];
    this.#transactional = Array.from({ length: PRODUCERS }, (_, at) =>
      kafka.producer({
        idempotent: true,
        maxInFlightRequests: 1,
        transactionalId: `${this.#topic}-${at}`,
        allowAutoTopicCreation: false,
      }),
    );
    for (const producer of [...this.#plain, ...this.#transactional]) await producer.connect();
  }

  async close(): Promise<void> {
    for (const producer of [...this.#plain, ...this.#transactional]) await producer.disconnect();
  }

  /** Sends messages in order, mixed with messages that must have no effect. */
  async send(chance: Chance, messages: readonly RawMessage[]): Promise<void> {
    const placed = messages.map((message) => ({
      ...message,
      partition: this.#partitionOf(message),
    }));
    const [own, ...others] = this.#transactional;
    if (own === undefined) throw new Error('open() comes first');
    const count = chance.number.int({ min: 0, max: others.length });
    const decoys = await Promise.all(
      chance.helpers.arrayElements(others, count).map((one) => one.transaction()),
    );
    for (const decoy of decoys)
      await decoy.send({ topic: this.#topic, messages: this.#decoys(chance) });
    const endSome = async (some: typeof decoys) => {
      for (const decoy of chance.helpers.shuffle(some)) {
        await decoy.abort();
        this.#tally.aborted += 1;
      }
    };
    const half = chance.number.int({ min: 0, max: decoys.length });
    const manners = ['plain', 'transaction', 'raw', 'raw'] as const;
    // The last message of a round is alone in the last batch of its log.
    const manner = messages.length === 1 ? 'raw' : chance.helpers.arrayElement(manners);
    if (manner === 'plain') {
      await chance.helpers.arrayElement(this.#plain).send({ topic: this.#topic, messages: placed });
      await endSome(decoys.slice(0, half));
    } else if (manner === 'raw') {
      await this.#sendRaw(chance, placed);
      await endSome(decoys.slice(0, half));
    } else {
      const transaction = await own.transaction();
      await transaction.send({ topic: this.#topic, messages: placed });
      await endSome(decoys.slice(0, half));
      await transaction.commit();
      this.#tally.transactions += 1;
    }
    if (chance.datatype.boolean({ probability: 0.5 })) await this.#sendPoisonBatch(chance);
    await endSome(decoys.slice(half));
  }

  /** Poison newer than every valid event, so that any effect would be visible. */
  #decoys(chance: Chance): Message[] {
    const decoys = Array.from({ length: chance.number.int({ min: 1, max: 5 }) }, () =>
      chance.datatype.boolean() ? decoy(chance) : poison(chance, 's1'),
    );
    return decoys.map((message) => ({ ...message, partition: this.#partitionOf(message) }));
  }

  /** Sends hand-made batches, often with false offsets in records. */
  async #sendRaw(chance: Chance, messages: readonly Placed[]): Promise<void> {
    for (let start = 0; start < messages.length;) {
      const partition = messages[start]?.partition ?? 0;
      const length = chance.number.int({ min: 1, max: 6 });
      const others = messages
        .slice(start, start + length)
        .findIndex((message) => message.partition !== partition);
      const part = messages.slice(start, start + (others === -1 ? length : others));
      start += part.length;
      const records = part.map((message) => toRecord(chance, message));
      // Brokers check the offsets of compressed records only.
      const shift = chance.helpers.arrayElement([0, 0, 30, -1, -2_000_000_000]);
      const moved = records.map((record, at) => ({ ...record, offsetDelta: at + shift }));
      await this.#produce(partition, { records: moved, ...(shift === 0 ? codecFor(chance) : {}) });
      this.#tally.rawBatches += 1;
    }
  }

  /** Sends an intact batch without readable messages, which becomes one dead letter. */
  async #sendPoisonBatch(chance: Chance): Promise<void> {
    const partition = chance.number.int({ max: this.#partitions - 1 });
    const value = Buffer.from('x');
    const codec = packed(chance.number.int({ min: 1, max: 4 }));
    const offset = await this.#produce(
      partition,
      chance.helpers.arrayElement<BatchToEncode>([
        { records: [{ value }], packed: bomb(), ...packed(4) },
        { records: [{ value, says: { length: 900 } }], ...codec },
        { records: [{ value, says: { length: 5 } }, { value }], ...codec },
      ]),
    );
    this.#tally.poisonBatches += 1;
    this.#poisonBatches.add(`${partition}/${offset}`);
  }

  /** @returns the offset of the first record. */
  #produce(partition: number, batch: BatchToEncode): Promise<number> {
    const encoded = encodeBatch({ ...batch, timestamp: BigInt(Date.now()) });
    return produceRaw(this.#installation.kafka, { topic: this.#topic, partition }, encoded);
  }

  /**
   * The partition of a key, on which all producers agree even after the topic got more partitions.
   */
  #partitionOf({ key, partition }: RawMessage): number {
    if (partition !== undefined) return partition;
    if (key === null) return 0;
    const partitionMetadata = Array.from({ length: this.#partitions }, (_, partitionId) => ({
      partitionErrorCode: 0,
      partitionId,
      leader: 0,
      replicas: [],
      isr: [],
    }));
    const message = { key, value: null };
    return kafkajs.Partitioners.DefaultPartitioner()({
      topic: this.#topic,
      partitionMetadata,
      message,
    });
  }
}

type Placed = RawMessage & { partition: number };

let packedBomb: Buffer | null = null;

/** A record that exceeds the decompressed limit. */
function bomb(): Buffer {
  packedBomb ??= zlib.zstdCompressSync(encodeRecord({ value: Buffer.alloc(65 * MIB) }));
  return packedBomb;
}

const packed = (number: number) => ({
  codec: { number, pack: (bytes: Buffer) => pack(number, bytes) },
});

function codecFor(chance: Chance): Pick<BatchToEncode, 'codec'> {
  const number = chance.number.int({ max: 4 });
  return number === 0 ? {} : packed(number);
}

const BYTES = Buffer.from([0xff, 0x00, 0xfe]);
const HARMLESS: NonNullable<RecordToEncode['headers']> = [
  ['trace-bin', BYTES],
  ['baggage', null],
  ['x', Buffer.from('1')],
  ['x', null],
  ['ce_id', null],
  ['__proto__', BYTES],
  ['content-type', null],
];

/** Adds headers without effect, after the message's own, since the first value counts. */
function toRecord(chance: Chance, { key, value, headers = {} }: RawMessage): RecordToEncode {
  const own = Object.entries(headers).flatMap(([name, given]) =>
    [given].flat().map((one): [string, Buffer] => [name, Buffer.from(one)]),
  );
  const others = chance.helpers.arrayElements(HARMLESS, { min: 0, max: HARMLESS.length });
  const isNull = key === null;
  return {
    key: isNull ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: [...own, ...others],
    // Any negative length means absent.
    ...(isNull ? { says: { key: chance.helpers.arrayElement([-1, -2, -1_000]) } } : {}),
  };
}

/** An event in one of the encodings of SDKs. */
export function inSomeForm(chance: Chance, event: Omit<EventToEncode, 'source'>): RawMessage {
  const { key, value, headers } = encodeEvent({ source: '/test', ...event });
  const attributes = JSON.parse(value) as Record<string, unknown>;
  const { data, ...others } = attributes;
  const form = chance.helpers.arrayElement([
    'usual',
    'usual',
    'JSON',
    'none',
    'base64',
    'integer',
    'binary',
  ] as const);
  if (form === 'JSON')
    return { key, value, headers: { 'content-type': 'application/json; charset=utf-8' } };
  if (form === 'none') return { key, value };
  if (form === 'integer') {
    return { key, headers, value: JSON.stringify({ ...attributes, sequence: event.sequence }) };
  }
  if (form === 'base64' && data !== undefined) {
    const data_base64 = Buffer.from(JSON.stringify(data)).toString('base64');
    return { key, headers, value: JSON.stringify({ ...others, data_base64 }) };
  }
  if (form === 'binary') {
    const named = Object.entries(others).map(([name, text]) => [`ce_${name}`, String(text)]);
    return {
      key,
      value: data === undefined ? null : JSON.stringify(data),
      headers: Object.fromEntries(named),
    };
  }
  return { key, value, headers };
}

function decoy(chance: Chance): RawMessage {
  return orderMessage('o1', {
    storeId: chance.helpers.arrayElement(['s1', 's2']),
    sequence: 1_000_000,
  });
}

/** Waits until every broker reports so many partitions of a topic. */
export function untilPartitions(
  { kafka }: Installation,
  topic: string,
  count: number,
): Promise<void> {
  return withAdmin(kafka, (admin) =>
    eventually(`${topic} has ${count} partitions`, async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      const partitions = topics[0]?.partitions ?? [];
      return partitions.length === count && partitions.every(({ leader }) => leader >= 0);
    }),
  );
}
