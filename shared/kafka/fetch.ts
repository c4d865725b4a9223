/**
 * Decodes the record sets in answers to Fetch requests instead of kafkajs, which checks no checksum, unpacks without a bound, and ends the
 * consumer at one unreadable batch. Here such a batch becomes a placeholder (`message.ts`).
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

/** Kafka's code for a batch that the broker itself finds corrupt. */
const CORRUPT_MESSAGE = 2;

interface FetchRequest {
  maxWaitTime: number;
  topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
}

/** What kafkajs decodes of an answer. */
interface FetchAnswer {
  responses: { topicName: string; partitions: FetchedPartition[] }[];
}

interface FetchedPartition {
  partition: number;
  errorCode: number;
  abortedTransactions: readonly AbortedTransaction[];
  /** The bytes of a record set, until that is decoded here. */
  messages: Buffer | LogMessage[];
}

interface Definition {
  protocol: (options: object) => (request: FetchRequest) => {
    response: { decode: (raw: Buffer) => Promise<FetchAnswer> };
  };
}

const require = createRequire(import.meta.url);

/** Makes kafkajs leave record sets to this file, and wait as `setFetchMaxWait` says. It has no hook for that, so its version is pinned. */
export function replaceFetches(): void {
  leaveRecordSets();
  const definition = require('kafkajs/src/protocol/requests/fetch') as Definition;
  const { protocol } = definition;
  const unpacking = new Unpacking();
  definition.protocol = (options) => {
    const make = protocol(options);
    return (asked) => {
      const maxWaitTime = fetchWaitMs(asked.topics, asked.maxWaitTime);
      const request = { ...asked, maxWaitTime, topics: withRoomForLastBatches(asked.topics) };
      const made = make(request);
      const decode = async (raw: Buffer) => decodeRecordSets(await made.response.decode(raw), request, unpacking);
      return { ...made, response: { ...made.response, decode } };
    };
  };
}

/** All versions of the answer are decoded with one function for record sets. They are loaded with the first fetch. */
function leaveRecordSets(): void {
  const path = require.resolve('kafkajs/src/protocol/requests/fetch/v4/decodeMessages');
  require(path);
  const leave = (answer: { readBytes: () => Buffer | null }) => answer.readBytes() ?? Buffer.alloc(0);
  Object.assign(require.cache[path] ?? {}, { exports: leave });
}

/** Decodes until the budget of an answer is spent; the next fetch brings the rest. */
async function decodeRecordSets(
  answer: FetchAnswer,
  { topics }: Pick<FetchRequest, 'topics'>,
  unpacking: Unpacking,
): Promise<FetchAnswer> {
  const asked = new Map(
    topics.flatMap(({ topic, partitions }) => partitions.map((one) => [placeOf(topic, one), one] as const)),
  );
  const fetched = answer.responses.flatMap(({ topicName, partitions }) =>
    partitions.map((partition) => ({ place: placeOf(topicName, partition), partition })),
  );
  const decoding = { unpacking, budget: new DecodingBudget() };
  let parts = 0;
  for (const { place, partition } of inRandomTurn(fetched)) {
    const { abortedTransactions, messages: set } = partition;
    if (!Buffer.isBuffer(set)) throw new TypeError('kafkajs decoded a record set by itself');
    const { fetchOffset: from = '0', maxBytes = 0 } = asked.get(place) ?? {};
    const fetchOffset = Number(from);
    partition.messages = [];
    // Aborted messages are left out here: kafkajs would assume that this list is sorted.
    partition.abortedTransactions = [];
    if (partition.errorCode === CORRUPT_MESSAGE) {
      partition.errorCode = 0;
      partition.messages = [damagedFrom('the broker finds it corrupt', set, fetchOffset)];
    } else if (parts < MAX_PARTS_IN_ALL && (parts === 0 || !decoding.budget.isSpent)) {
      const mostBytes = maxBytes * UNPACKED_TIMES;
      const read = await decodeRecordSet(
        set,
        { fetchOffset, abortedTransactions, most: MAX_PARTS, mostBytes },
        decoding,
      );
      partition.messages = read.messages;
      parts += read.parts;
      noteLastBatch(place, read.messages.at(-1));
    }
  }
  return answer;
}

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
