/**
 * The brokers of a topic, as the reader asks them: connections for each, and answers to Fetch of
 * which each batch is checked.
 */
import { createRequire } from 'node:module';
import {
  type Cluster,
  connectTo,
  encoderOf,
  type KnownBounds,
  protocolError,
  readBounds,
  readLeaders,
  type Request,
} from './cluster.ts';
import type { Answer, Brokers, Fetched, FetchRequest } from './fetcher.ts';
import { type AbortedTransaction, damagedFrom, decodeRecordSet } from './record-set.ts';
import { createUnpacking, DecodingBudget } from './unpacking.ts';

const require = createRequire(import.meta.url);

/** The messages of a partition may take this many times the requested bytes; two are always read. */
const MEMORY_TIMES = 6;
/**
 * For all partitions: more than they bring. A broker serves them in order, so a tighter bound would
 * starve the last ones.
 */
const MAX_BYTES = 256 * 1_048_576;

/**
 * Codes of the protocol: what is wanted lies outside of the log; the broker finds a batch corrupt.
 */
const OUTSIDE = 1;
const CORRUPT_MESSAGE = 2;

const encodeFetch = encoderOf('fetch/v11');

interface Decoder {
  readInt16: () => number;
  readInt32: () => number;
  readInt64: () => bigint;
  readString: () => string | null;
  readBytes: () => Buffer | null;
  readArray: <T>(read: (decoder: Decoder) => T) => T[];
}
const DecoderOf = require('kafkajs/src/protocol/decoder') as new (raw: Buffer) => Decoder;

/**
 * An answer to Fetch in version 11, whose record sets are not decoded
 * (https://kafka.apache.org/protocol.html).
 */
function decodeFetch(raw: Buffer) {
  const decoder = new DecoderOf(raw);
  const throttleMs = decoder.readInt32();
  const errorCode = decoder.readInt16();
  decoder.readInt32();
  const topics = decoder.readArray((ofTopic) => {
    ofTopic.readString();
    return ofTopic.readArray((one) => {
      const partition = one.readInt32();
      const partitionError = one.readInt16();
      one.readInt64();
      const end = Number(one.readInt64());
      one.readInt64();
      const abortedTransactions = one.readArray((transaction): AbortedTransaction => ({
        producerId: transaction.readInt64(),
        firstOffset: Number(transaction.readInt64()),
      }));
      one.readInt32();
      const set = one.readBytes() ?? Buffer.alloc(0);
      return { partition, errorCode: partitionError, end, abortedTransactions, set };
    });
  });
  return { throttleMs, errorCode, partitions: topics.flat() };
}

type RawPartition = ReturnType<typeof decodeFetch>['partitions'][number];

interface ConnectedBrokers extends Brokers {
  partitions: () => number[];
  /** As `readBounds`. */
  bounds: () => Promise<KnownBounds>;
}

/** @param more clients whose connections serve further lanes: each has two to a broker. */
export async function connectBrokers(
  cluster: Cluster,
  topic: string,
  more: readonly Cluster[] = [],
): Promise<ConnectedBrokers> {
  let leaders: KnownBounds['leaders'] = await readLeaders(cluster, topic);
  const unpacking = createUnpacking();

  /** The first lane has the second connection of its client, whose first one is for questions. */
  const connectionOf = async (nodeId: number, lane: number) => {
    const client = more[Math.ceil(lane / 2) - 1] ?? cluster;
    await connectTo(client, topic);
    const { connectionPool } = await client.findBroker({ nodeId });
    return connectionPool.getConnection((lane + 1) % 2);
  };

  const fetch = async (
    nodeId: number,
    { lane, maxWaitMs, partitions }: FetchRequest,
  ): Promise<Fetched> => {
    const connection = await connectionOf(nodeId, lane);
    const asked = partitions.map(({ partition, from, bytes }) => ({
      partition,
      fetchOffset: String(from),
      maxBytes: bytes,
    }));
    const request: Request<ReturnType<typeof decodeFetch>> = {
      request: encodeFetch({
        replicaId: -1,
        maxWaitTime: maxWaitMs,
        minBytes: 1,
        maxBytes: MAX_BYTES,
        isolationLevel: 1,
        topics: [{ topic, partitions: inRandomTurn(asked) }],
      }),
      response: { decode: async (raw) => decodeFetch(raw), parse: async (answer) => answer },
    };
    const answer = await connection.send(request);
    if (answer.errorCode !== 0) throw protocolError(answer.errorCode);
    const decoding = { unpacking, budget: new DecodingBudget() };
    const read = async ({
      partition,
      errorCode,
      end,
      set,
      abortedTransactions,
    }: RawPartition): Promise<'moved' | Answer> => {
      const { from = 0, bytes = 0 } = partitions.find((one) => one.partition === partition) ?? {};
      const answered = { messages: [], next: from, end, isOutside: false };
      switch (errorCode) {
        case 0: {
          if (decoding.budget.isSpent) return answered;
          const wanted = {
            fetchOffset: from,
            abortedTransactions,
            mostBytes: bytes * MEMORY_TIMES,
          };
          return { ...answered, ...(await decodeRecordSet(set, wanted, decoding)) };
        }
        case OUTSIDE:
          return { ...answered, isOutside: true };
        case CORRUPT_MESSAGE: {
          const damaged = damagedFrom('the broker finds it corrupt', set, from);
          return { ...answered, messages: [damaged], next: from + 1 };
        }
        default: {
          const error = protocolError(errorCode);
          if (error.retriable) return 'moved';
          throw error;
        }
      }
    };
    return {
      throttleMs: answer.throttleMs,
      partitions: answer.partitions.map((raw) => ({
        partition: raw.partition,
        read: () => read(raw),
      })),
    };
  };

  return {
    leaderOf: (partition) => leaders.get(partition) ?? null,
    partitions: () => [...leaders.keys()],
    refresh: async () => void (leaders = await readLeaders(cluster, topic)),
    bounds: async () => {
      const read = await readBounds(cluster, topic);
      ({ leaders } = read);
      return read;
    },
    fetch,
  };
}

/** Rotates the partitions at random: a fixed first one could spend the budget of all others. */
function inRandomTurn<T>(sets: readonly T[]): T[] {
  const first = Math.floor(Math.random() * sets.length);
  return [...sets.slice(first), ...sets.slice(0, first)];
}
