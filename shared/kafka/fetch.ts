/**
 * Decodes the record sets in answers to Fetch requests. kafkajs itself checks no checksum, unpacks without a bound, and ends the consumer
 * at one unreadable batch; here such a batch becomes a placeholder (`message.ts`).
 */
import { createRequire } from 'node:module';
import { DecodingBudget, Unpacking } from './unpacking.ts';
import { type AbortedTransaction, damagedFrom, decodeRecordSet } from './record-set.ts';
import type { LogMessage } from './message.ts';
import { batchHeader } from './record-batch.ts';

/** Unpacked messages of a fetch may have this many times the requested bytes; two messages are always read. */
const UNPACKED_TIMES = 4;
/** Messages and their headers of one partition in a fetch: many times those of real events. */
const MAX_PARTS = 10_000;
/** The same for all partitions of one answer. */
const MAX_PARTS_IN_ALL = 100_000;

/** Kafka's code for a batch that the broker finds corrupt. */
const CORRUPT_MESSAGE = 2;

interface FetchRequest {
  maxWaitTime: number;
  topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
}

/** An answer as kafkajs decodes it. */
interface FetchAnswer {
  responses: { topicName: string; partitions: FetchedPartition[] }[];
}

interface FetchedPartition {
  partition: number;
  errorCode: number;
  highWatermark: string;
  lastStableOffset: string;
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

/** Patches kafkajs to leave record sets to this file and to use the waits of `setFetchMaxWait`. Its version is pinned for that. */
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

/** Replaces the function for record sets before the first fetch loads the decoders, which all use it. */
function leaveRecordSets(): void {
  const path = require.resolve('kafkajs/src/protocol/requests/fetch/v4/decodeMessages');
  require(path);
  const leave = (answer: { readBytes: () => Buffer | null }) => answer.readBytes() ?? Buffer.alloc(0);
  Object.assign(require.cache[path] ?? {}, { exports: leave });
}

/** Decodes until the budget of an answer is spent; the next fetch brings the rest. */
async function decodeRecordSets(answer: FetchAnswer, { topics }: Pick<FetchRequest, 'topics'>, unpacking: Unpacking) {
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
    // Aborted messages are left out here: kafkajs would require a sorted list.
    partition.abortedTransactions = [];
    // Behind it open transactions hide messages: a lag that counted them would let others wait for what cannot be fetched.
    partition.highWatermark = partition.lastStableOffset;
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

/** Rotates the partitions at random: a fixed first one could spend the budget of all others. */
function inRandomTurn<T>(sets: readonly T[]): T[] {
  const first = Math.floor(Math.random() * sets.length);
  return [...sets.slice(first), ...sets.slice(0, first)];
}

function placeOf(topic: string, { partition }: { partition: number }): string {
  return `${topic}/${partition}`;
}

/** The most extra bytes for a batch that is fetched again. */
const MAX_AGAIN_BYTES = 1_048_576;

/** The last record batch that was read, by topic and partition. */
const lastBatches = new Map<string, { from: number; to: number; bytes: number }>();

function noteLastBatch(place: string, message: LogMessage | undefined): void {
  const header = message?.batch === undefined ? null : batchHeader(message.batch, 0);
  if (header === null) lastBatches.delete(place);
  else lastBatches.set(place, { from: header.baseOffset, to: header.lastOffset, bytes: header.bytes });
}

/**
 * A fetch that begins within a record batch brings the whole batch again, as each one that begins with the last message does. The batch
 * gets extra room, or a large one would leave little for new batches.
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

/** How long a fetch may wait now, by its topic's consumers. */
const waits = new Map<string, Set<() => number>>();

/**
 * Lets empty fetches of a topic wait as long as all its consumers in this process allow; a broker answers at once when a message comes.
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

/** How long a fetch of some topics waits: at least the requested time. */
export function fetchWaitMs(topics: readonly { topic: string }[], askedMs: number): number {
  const said = topics.flatMap(({ topic }) => [...(waits.get(topic) ?? [])].map((waitMs) => waitMs()));
  return said.length === 0 ? askedMs : Math.max(askedMs, Math.min(...said));
}
