/**
 * A transaction of Kafka that never ends by itself, and the commands of the runbook that end it.
 */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { vi } from 'vitest';
import { withCluster } from '#shared/kafka/cluster.ts';
import type { KafkaCluster } from './kafka-cluster.ts';

/**
 * Settings of a broker. Since 3.6 it refuses what makes a transaction hang, unless it is told not
 * to.
 */
export const LETS_HANG = { 'transaction.partition.verification.enable': 'false' };

/** `kafka-transactions.sh` */
const TRANSACTIONS = 'org.apache.kafka.tools.TransactionsCommand';

/** The type of a coordinator in the protocol. */
const TRANSACTION = 1;

interface TransactionalBroker {
  initProducerId: (request: object) => Promise<{ producerId: unknown; producerEpoch: number }>;
  produce: (request: object) => Promise<object>;
}

/**
 * Writes to the first partition as in a transaction that its coordinator never hears of, as after
 * an error of a broker or a publisher.
 */
export async function hang(client: Kafka, topic: string, key: string): Promise<void> {
  const transactionalId = randomUUID();
  await withCluster(client, async (cluster) => {
    await cluster.addTargetTopic(topic);
    const coordinating = { groupId: transactionalId, coordinatorType: TRANSACTION };
    // A coordinator refuses until it has read its log.
    const begin = async () => {
      const coordinator = (await cluster.findGroupCoordinator(
        coordinating,
      )) as unknown as TransactionalBroker;
      return coordinator.initProducerId({ transactionalId, transactionTimeout: 60_000 });
    };
    const producer = await vi.waitFor(begin, { timeout: 60_000, interval: 200 });
    const leader =
      cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === 0)
        ?.leader ?? -1;
    const broker = (await cluster.findBroker({ nodeId: leader })) as unknown as TransactionalBroker;
    const messages = [{ key, value: 'hanging', headers: {} }];
    const partitions = [{ partition: 0, firstSequence: 0, messages }];
    const { producerId, producerEpoch } = producer;
    const topicData = [{ topic, partitions }];
    await broker.produce({ transactionalId, producerId, producerEpoch, topicData });
  });
}

/**
 * Finds the hanging transaction of a topic, and aborts it.
 * @returns its partition; `null` if there is none.
 */
export async function abortHanging(kafka: KafkaCluster, topic: string): Promise<number | null> {
  const leader = kafka.servers.indexOf(await kafka.leaderOf(topic, 0)) + 1;
  // From a transaction's first minute on, instead of the sixteenth.
  const older = ['--max-transaction-timeout', '0'];
  const found = await kafka.runTool(
    TRANSACTIONS,
    'find-hanging',
    '--broker-id',
    String(leader),
    ...older,
  );
  const row = found.split('\n').find((line) => line.startsWith(topic));
  if (row === undefined) return null;
  const [, partition = '', , , , startOffset = ''] = row.trim().split(/\s+/);
  const place = ['--topic', topic, '--partition', partition, '--start-offset', startOffset];
  await kafka.runTool(TRANSACTIONS, 'abort', ...place);
  return Number(partition);
}
