/**
 * The internal client of kafkajs, by which we read logs and join groups: brokers, their connections
 * and the messages of the protocol.
 */
import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { isUnavailable, unavailable } from '../errors.ts';
import './patches.ts';
import type { LogBounds, PartitionBounds } from './positions.ts';

const require = createRequire(import.meta.url);

export interface Cluster {
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  addTargetTopic: (topic: string) => Promise<void>;
  refreshMetadata: () => Promise<void>;
  /** The leader is -1 if there is none. */
  findTopicPartitionMetadata: (topic: string) => { partitionId: number; leader: number }[];
  findBroker: (options: { nodeId: number }) => Promise<Broker>;
  findGroupCoordinator: (options: { groupId: string }) => Promise<Broker>;
}

interface Connection {
  send: <T>(request: Request<T>) => Promise<T>;
}

/** The two connections to a broker. */
interface ConnectionPool extends Connection {
  port: number;
  getConnection: (index: number) => Promise<Connection>;
}

export interface Member {
  groupId: string;
  memberId: string;
  groupGenerationId: number;
}

export interface Broker {
  connectionPool: ConnectionPool;
  joinGroup: (request: object) => Promise<{
    generationId: number;
    leaderId: string;
    memberId: string;
    members: { memberId: string; memberMetadata: Buffer }[];
  }>;
  syncGroup: (request: object) => Promise<{ memberAssignment: Buffer }>;
  heartbeat: (request: Member) => Promise<void>;
  leaveGroup: (request: Omit<Member, 'groupGenerationId'>) => Promise<void>;
  offsetCommit: (request: Member & { topics: object[] }) => Promise<void>;
}

/** A request of the protocol, with what reads its answer. */
export interface Request<T> {
  request: object;
  response: { decode: (raw: Buffer) => Promise<T>; parse: (answer: T) => Promise<T> };
}

/** kafkajs hides it behind a symbol. */
export function createCluster(kafka: Kafka): Cluster {
  const hidden = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const create = Reflect.get(kafka, hidden ?? '') as (options: object) => Cluster;
  return create({ allowAutoTopicCreation: false });
}

/** Connects one for a question. */
export async function withCluster<T>(
  kafka: Kafka,
  ask: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = createCluster(kafka);
  try {
    await cluster.connect();
    return await ask(cluster);
  } finally {
    void cluster.disconnect().catch(() => undefined);
  }
}

/** The encoder of a request in one of its versions. */
export function encoderOf(name: string): (request: object) => object {
  return require(`kafkajs/src/protocol/requests/${name}/request`) as (request: object) => object;
}

const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => Error & { retriable: boolean };
};

export { createErrorFromCode as protocolError };

/** Connects it, if it is not, and lets it ask for no other topic. */
export async function connectTo(cluster: Cluster, topic: string): Promise<void> {
  await cluster.connect();
  await cluster.addTargetTopic(topic);
}

/**
 * The leaders of a topic's partitions as of now; `null` for a partition without one.
 * @throws if there is no such topic.
 */
export async function readLeaders(
  cluster: Cluster,
  topic: string,
): Promise<Map<number, number | null>> {
  await connectTo(cluster, topic);
  await cluster.refreshMetadata();
  const partitions = cluster
    .findTopicPartitionMetadata(topic)
    .toSorted((a, b) => a.partitionId - b.partitionId);
  return new Map(
    partitions.map(({ partitionId, leader }) => [partitionId, leader === -1 ? null : leader]),
  );
}

interface ListOffsetsAnswer {
  responses: { partitions: { partition: number; errorCode: number; offset: string }[] }[];
}

const encodeListOffsets = encoderOf('listOffsets/v2');
const { decode: decodeListOffsets } =
  require('kafkajs/src/protocol/requests/listOffsets/v2/response') as {
    decode: (raw: Buffer) => Promise<ListOffsetsAnswer>;
  };

/**
 * The questions about each partition: where it begins, where readers of committed messages end, and
 * where it ends.
 */
const QUESTIONS = [
  { bound: 'start', timestamp: '-2', isolationLevel: 1 },
  { bound: 'end', timestamp: '-1', isolationLevel: 1 },
  { bound: 'highWatermark', timestamp: '-1', isolationLevel: 0 },
] as const;

/** With the end for all readers. */
export type FullBounds = PartitionBounds & { highWatermark: number };

export interface KnownBounds {
  /** The leader of each partition; `null` if there is none. */
  leaders: ReadonlyMap<number, number | null>;
  bounds: ReadonlyMap<number, FullBounds>;
  /** Partitions without a leader that answers. They say nothing about others. */
  unknown: readonly number[];
}

/** The bounds of a topic's log. @throws what no waiting helps against. */
export async function readBounds(cluster: Cluster, topic: string): Promise<KnownBounds> {
  const leaders = await readLeaders(cluster, topic);
  const found = new Map<number, FullBounds>();
  const failed = new Set<number>();
  const ask = async (nodeId: number, led: readonly (readonly [number, unknown])[]) => {
    const { connectionPool } = await cluster.findBroker({ nodeId });
    for (const { bound, timestamp, isolationLevel } of QUESTIONS) {
      const partitions = led.map(([partition]) => ({ partition, timestamp }));
      const request = encodeListOffsets({
        replicaId: -1,
        isolationLevel,
        topics: [{ topic, partitions }],
      });
      const response = {
        decode: decodeListOffsets,
        parse: async (answer: ListOffsetsAnswer) => answer,
      };
      const { responses } = await connectionPool.send({ request, response });
      for (const { partition, errorCode, offset } of responses.flatMap((one) => one.partitions)) {
        const error = errorCode === 0 ? null : createErrorFromCode(errorCode);
        if (error?.retriable === false) throw error;
        if (error !== null) failed.add(partition);
        const others = found.get(partition) ?? { start: 0, end: 0, highWatermark: 0 };
        found.set(partition, { ...others, [bound]: Number(offset) });
      }
    }
  };
  const asked = [...Map.groupBy(leaders, ([, leader]) => leader)].map(async ([nodeId, led]) => {
    if (nodeId === null) return;
    await ask(nodeId, led).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
      for (const [partition] of led) failed.add(partition);
    });
  });
  await Promise.all(asked);
  const bounds = new Map(
    [...found].filter(([partition]) => !failed.has(partition)).toSorted(([a], [b]) => a - b),
  );
  return {
    leaders,
    bounds,
    unknown: [...leaders.keys()].filter((partition) => !bounds.has(partition)),
  };
}

/**
 * As `readBounds`, for who needs all.
 * @throws {StoreDataError} `environment_unavailable` naming partitions without a leader.
 */
export async function readLogBounds(cluster: Cluster, topic: string): Promise<LogBounds> {
  const { bounds, unknown } = await readBounds(cluster, topic);
  if (unknown.length > 0)
    throw unavailable(`${topic}/${unknown.join(', ')}: no leader, or it does not answer`);
  return bounds;
}
