/** Sends raw record batches to Kafka. A broker checks little more than their checksum. */
import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { readLeaders, type Request, withCluster } from '#shared/kafka/cluster.ts';

const require = createRequire(import.meta.url);

interface Encoder {
  writeInt16: (value: number) => Encoder;
  writeInt32: (value: number) => Encoder;
  writeString: (value: string | null) => Encoder;
  writeBytes: (value: Buffer) => Encoder;
}
const EncoderOf = require('kafkajs/src/protocol/encoder') as new () => Encoder;

interface Produced {
  topics: { partitions: { baseOffset: string }[] }[];
}
const VERSION = 7;
const response = require(
  `kafkajs/src/protocol/requests/produce/v${VERSION}/response`,
) as Request<Produced>['response'];

const TIMEOUT_MS = 30_000;

/**
 * Sends one batch to the leader of its partition and waits until all replicas have it.
 * @returns the offset of its first record. @throws Kafka's error if the broker refuses it.
 */
export function produceRaw(
  kafka: Kafka,
  { topic, partition }: { topic: string; partition: number },
  batch: Buffer,
): Promise<number> {
  const encode = async () =>
    new EncoderOf()
      .writeString(null)
      .writeInt16(-1)
      .writeInt32(TIMEOUT_MS)
      .writeInt32(1)
      .writeString(topic)
      .writeInt32(1)
      .writeInt32(partition)
      .writeBytes(batch);
  const request = { apiKey: 0, apiVersion: VERSION, apiName: 'Produce', encode };
  return withCluster(kafka, async (cluster) => {
    const leader = (await readLeaders(cluster, topic)).get(partition);
    const { connectionPool } = await cluster.findBroker({ nodeId: leader ?? -1 });
    const { topics } = await connectionPool.send<Produced>({ request, response });
    return Number(topics[0]?.partitions[0]?.baseOffset);
  });
}
