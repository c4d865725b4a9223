/** How far the projector is behind: positions from the checkpoints, ends of the logs from Kafka. */
import type { Db } from 'mongodb';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import { type Checkpoint, checkpointId } from '#shared/projection/slice/checkpoint.ts';
import type { Servers } from '../connection/servers.ts';

export interface PartitionLag {
  topic: string;
  partition: number;
  /** The offset that is applied next; `null` while nobody has begun. */
  position: number | null;
  /** The offset that the next message gets. */
  end: number;
  /** Messages that are not applied yet; `null` where the checkpoint belongs to another log. */
  lag: number | null;
  /** When Kafka took the message that was applied last. */
  lastAppliedAt: Date | null;
}

/** Measures every partition of both topics of some environments. */
export async function measureLag(servers: Servers, environments: readonly string[]): Promise<PartitionLag[]> {
  const perTopic = environments.flatMap((environment) => [
    {
      topic: changesTopic(environment),
      database: async () =>
        (await findLiveGeneration(await servers.databases(environment), environment))?.db ?? null,
    },
    { topic: accessTopic(environment), database: () => servers.control() },
  ]);
  const lags = await Promise.all(
    perTopic.map(async ({ topic, database }) => {
      // Positions first: a partition that moves meanwhile shows a lag, and never one below zero.
      const checkpoints = await readCheckpoints(await database(), topic);
      const admin = await servers.kafkaOf(topic).admin();
      const offsets = await admin.fetchTopicOffsets(topic);
      return offsets
        .map(({ partition, low, high }) =>
          partitionLag(topic, partition, checkpoints.get(checkpointId(topic, partition)), {
            start: Number(low),
            end: Number(high),
          }),
        )
        .toSorted((a, b) => a.partition - b.partition);
    }),
  );
  return lags.flat();
}

/** The lag of one partition. */
export function partitionLag(
  topic: string,
  partition: number,
  checkpoint: Pick<Checkpoint, 'position' | 'last_message'> | undefined,
  { start, end }: { start: number; end: number },
): PartitionLag {
  const position = checkpoint?.position ?? null;
  const next = position ?? start;
  const lastMessage = checkpoint?.last_message ?? null;
  return {
    topic,
    partition,
    position,
    end,
    lag: next <= end ? end - next : null,
    lastAppliedAt: lastMessage === null ? null : new Date(lastMessage.timestamp),
  };
}

async function readCheckpoints(db: Db | null, topic: string): Promise<Map<string, Checkpoint>> {
  if (db === null) return new Map();
  const found = await db.collection<Checkpoint>(CHECKPOINTS).find({ topic }).toArray();
  return new Map(found.map((checkpoint) => [checkpoint._id, checkpoint]));
}
