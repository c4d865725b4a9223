/** Sends raw record batches to Kafka. A broker checks little more than their checksum. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Kafka } from 'kafkajs';

const PRODUCE = 0;
const VERSION = 7;
const TIMEOUT_MS = 30_000;

/** The target partition of a batch. */
export interface RawTarget {
  topic: string;
  partition: number;
  /** The transaction of the batch. */
  transactionalId?: string;
}

/**
 * Sends one batch to the leader of its partition and waits until all replicas have it.
 * @returns the offset of its first record. @throws Kafka's error code if the broker refuses it.
 */
export async function produceRaw(kafka: Kafka, target: RawTarget, batch: Buffer): Promise<number> {
  const { host, port } = await leaderOf(kafka, target);
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    socket.write(request(target, batch));
    let answer = Buffer.alloc(0);
    for await (const chunk of socket) {
      answer = Buffer.concat([answer, chunk as Buffer]);
      if (answer.length >= 4 && answer.length >= 4 + answer.readInt32BE(0)) break;
    }
    // Skips the length, correlation id, topic and partition.
    const at = 4 + 4 + 4 + 2 + Buffer.byteLength(target.topic) + 4 + 4;
    const errorCode = answer.readInt16BE(at);
    if (errorCode !== 0) throw new Error(`the broker refuses the batch with error ${errorCode}`);
    return Number(answer.readBigInt64BE(at + 2));
  } finally {
    socket.destroy();
  }
}

function request({ topic, partition, transactionalId }: RawTarget, batch: Buffer): Buffer {
  const body = Buffer.concat([
    int16(PRODUCE),
    int16(VERSION),
    int32(1),
    text('raw'),
    transactionalId === undefined ? int16(-1) : text(transactionalId),
    int16(-1),
    int32(TIMEOUT_MS),
    int32(1),
    text(topic),
    int32(1),
    int32(partition),
    int32(batch.length),
    batch,
  ]);
  return Buffer.concat([int32(body.length), body]);
}

async function leaderOf(
  kafka: Kafka,
  { topic, partition }: RawTarget,
): Promise<{ host: string; port: number }> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const [metadata, { brokers }] = await Promise.all([
      admin.fetchTopicMetadata({ topics: [topic] }),
      admin.describeCluster(),
    ]);
    const leader = metadata.topics[0]?.partitions.find(
      ({ partitionId }) => partitionId === partition,
    )?.leader;
    const broker = brokers.find(({ nodeId }) => nodeId === leader);
    if (broker === undefined) throw new Error(`${topic}/${partition} has no leader`);
    return broker;
  } finally {
    await admin.disconnect();
  }
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
}
