/**
 * Decodes answers to Fetch requests instead of kafkajs, which checks no checksum, unpacks without a bound, and ends the consumer at one
 * unreadable batch. Here such a batch becomes a placeholder (`message.ts`).
 *
 * https://kafka.apache.org/protocol.html#The_Messages_Fetch, versions 4 to 11, which are those that kafkajs asks for.
 */
import { createRequire } from 'node:module';
import { DecodingBudget, Unpacking } from './unpacking.ts';
import { type AbortedTransaction, damagedFrom, decodeRecordSet } from './record-set.ts';
import type { LogMessage } from './message.ts';
import { batchHeader } from './record-batch.ts';

/** Unpacked messages of a fetch may have this many times the bytes that it requested; two messages are read in any case. */
const UNPACKED_TIMES = 4;
/** Messages of one partition at a time, their headers counted as well: many times what a fetch brings of real events. */
const MAX_PARTS = 10_000;
/** Of all partitions of one answer. */
const MAX_PARTS_IN_ALL = 100_000;

/** The oldest version with record batches; brokers older than 0.11 speak older ones. */
const OLDEST_VERSION = 4;
/** Kafka's code for a batch that the broker itself finds corrupt. */
const CORRUPT_MESSAGE = 2;

interface FetchRequest {
  maxWaitTime: number;
  topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
}

interface FetchedPartition {
  partition: number;
  errorCode: number;
  highWatermark: string;
  lastStableOffset: string;
  lastStartOffset: string;
  abortedTransactions: AbortedTransaction[];
  preferredReadReplica: number;
  messages: LogMessage[];
}

interface Protocol {
  response: { decode: (raw: Buffer) => Promise<unknown> };
}

interface Definition {
  protocol: (options: { version: number }) => (request: FetchRequest) => Protocol;
}

interface Fields {
  readInt16: () => number;
  readInt32: () => number;
  readInt64: () => bigint;
  readString: () => string | null;
  readBytes: () => Buffer | null;
  readArray: <T>(read: () => T) => T[];
}

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder') as new (raw: Buffer) => Fields;

/** Makes kafkajs decode fetches with this file and wait as `setFetchMaxWait` says. It has no hook for that, so its version is pinned. */
export function replaceFetches(): void {
  const definition = require('kafkajs/src/protocol/requests/fetch') as Definition;
  const { protocol } = definition;
  const unpacking = new Unpacking();
  definition.protocol = (options) => {
    const make = protocol(options);
    const { version } = options;
    if (version < OLDEST_VERSION) return make;
    return (asked) => {
      const maxWaitTime = fetchWaitMs(asked.topics, asked.maxWaitTime);
      const request = { ...asked, maxWaitTime, topics: withRoomForLastBatches(asked.topics) };
      const made = make(request);
      return {
        ...made,
        response: { ...made.response, decode: (raw) => decodeFetch(raw, version, request, unpacking) },
      };
    };
  };
}

/** Decodes an answer until its budget is spent; the next fetch brings the rest. */
export async function decodeFetch(
  raw: Buffer,
  version: number,
  request: Pick<FetchRequest, 'topics'>,
  unpacking: Unpacking,
): Promise<object> {
  const asked = new Map(
    request.topics.flatMap(({ topic, partitions }) => partitions.map((one) => [placeOf(topic, one), one] as const)),
  );
  const fields = new Decoder(raw);
  const throttleMs = fields.readInt32();
  const errorCode = version >= 7 ? fields.readInt16() : 0;
  const sessionId = version >= 7 ? fields.readInt32() : 0;
  const sets: {
    topic: string;
    set: Buffer;
    fetchOffset: number;
    maxBytes: number;
    partition: FetchedPartition;
  }[] = [];
  const responses = [];
  for (let topics = fields.readInt32(); topics > 0; topics -= 1) {
    const topicName = fields.readString() ?? '';
    const partitions: FetchedPartition[] = [];
    for (let count = fields.readInt32(); count > 0; count -= 1) {
      const partition = partitionHeader(fields, version);
      const set = fields.readBytes() ?? NO_BYTES;
      const { fetchOffset = '0', maxBytes = 0 } = asked.get(placeOf(topicName, partition)) ?? {};
      sets.push({ topic: topicName, set, fetchOffset: Number(fetchOffset), maxBytes, partition });
      partitions.push(partition);
    }
    responses.push({ topicName, partitions });
  }
  const decoding = { unpacking, budget: new DecodingBudget() };
  let parts = 0;
  for (const { topic, set, fetchOffset, maxBytes, partition } of inRandomTurn(sets)) {
    const { abortedTransactions } = partition;
    // Aborted messages are left out here: kafkajs would assume that this list is sorted.
    partition.abortedTransactions = [];
    if (partition.errorCode === CORRUPT_MESSAGE) {
      partition.errorCode = 0;
      partition.messages = [damagedFrom('the broker finds it corrupt', set, fetchOffset)];
    } else if (parts < MAX_PARTS_IN_ALL && (parts === 0 || !decoding.budget.isSpent)) {
      const mostBytes = maxBytes * UNPACKED_TIMES;
      const fetched = { fetchOffset, abortedTransactions, most: MAX_PARTS, mostBytes };
      const read = await decodeRecordSet(set, fetched, decoding);
      partition.messages = read.messages;
      parts += read.parts;
      noteLastBatch(placeOf(topic, partition), read.messages.at(-1));
    }
  }
  // From version 8 on a broker leaves it to the client to wait (KIP-219).
  const clientSideThrottleTime = version >= 8 ? throttleMs : 0;
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

const NO_BYTES = Buffer.alloc(0);

/** Rotates the partitions at random: if the same one always came first, it could spend the budget of all others. */
function inRandomTurn<T>(sets: readonly T[]): T[] {
  const first = Math.floor(Math.random() * sets.length);
  return [...sets.slice(first), ...sets.slice(0, first)];
}

function placeOf(topic: string, { partition }: { partition: number }): string {
  return `${topic}/${partition}`;
}

/** A record batch that is larger gets no room beside others. */
const MAX_AGAIN_BYTES = 1_048_576;

/** By topic and partition, the record batch that was read last. */
const lastBatches = new Map<string, { from: number; to: number; bytes: number }>();

function noteLastBatch(place: string, message: LogMessage | undefined): void {
  const header = message?.batch === undefined ? null : batchHeader(message.batch, 0);
  if (header === null) lastBatches.delete(place);
  else lastBatches.set(place, { from: header.baseOffset, to: header.lastOffset, bytes: header.bytes });
}

/**
 * A fetch that begins inside of a record batch brings all of it again, as each does that is to show the last message of the one before.
 * That has room of its own, or large batches would leave little for new ones.
 */
export function withRoomForLastBatches(topics: FetchRequest['topics']): FetchRequest['topics'] {
  return topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map((one) => {
      const { from, to, bytes } = lastBatches.get(placeOf(topic, one)) ?? { from: 0, to: -1, bytes: 0 };
      const comesAgain = Number(one.fetchOffset) >= from && Number(one.fetchOffset) <= to;
      return comesAgain ? { ...one, maxBytes: one.maxBytes + Math.min(bytes, MAX_AGAIN_BYTES) } : one;
    }),
  }));
}

function partitionHeader(fields: Fields, version: number): FetchedPartition {
  const int64 = () => String(fields.readInt64());
  return {
    partition: fields.readInt32(),
    errorCode: fields.readInt16(),
    highWatermark: int64(),
    lastStableOffset: int64(),
    lastStartOffset: version >= 5 ? int64() : '-1',
    abortedTransactions: fields.readArray(() => ({ producerId: int64(), firstOffset: int64() })),
    preferredReadReplica: version >= 11 ? fields.readInt32() : -1,
    messages: [],
  };
}

/** By topic, functions of its consumers: how long a fetch may wait now. */
const waits = new Map<string, Set<() => number>>();

/**
 * Lets empty fetches of a topic wait as long as its least patient consumer here allows. A broker answers at once when a message comes.
 * With kafkajs's single short wait, fetches are most of an idle consumer's cost. @returns a function that ends it.
 */
export function setFetchMaxWait(topic: string, waitMs: () => number): () => void {
  const ofTopic = waits.get(topic) ?? new Set();
  waits.set(topic, ofTopic.add(waitMs));
  return () => {
    ofTopic.delete(waitMs);
    if (ofTopic.size === 0 && waits.get(topic) === ofTopic) waits.delete(topic);
  };
}

/** How long a fetch of some topics waits; the requested time unless a consumer set another. */
export function fetchWaitMs(topics: readonly { topic: string }[], askedMs: number): number {
  const said = topics.flatMap(({ topic }) => [...(waits.get(topic) ?? [])].map((waitMs) => waitMs()));
  return said.length === 0 ? askedMs : Math.max(askedMs, Math.min(...said));
}
