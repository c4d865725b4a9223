/**
 * Reads answers to Fetch requests in the place of kafkajs, which checks no checksum, unpacks without a bound, and gives up all of an
 * answer, and the consumer with it, when one batch of one partition cannot be read. Here such a batch is known by what stands for it
 * (`unreadable.ts`), and everything else is read.
 *
 * https://kafka.apache.org/protocol.html#The_Messages_Fetch, versions 4 to 11, which are those that kafkajs asks for.
 */
import { createRequire } from 'node:module';
import { fetchWaitMs } from './fetch-wait.ts';
import type { DecodedMessage } from './record-batch.ts';
import { decodeRecordSet, unreadableFrom } from './record-set.ts';

/** Of compressed messages a fetch brings so many times the bytes that it asks for, unpacked, and two batches more. */
const UNPACKED_TIMES = 4;
/** Once so much of one answer is unpacked, its other partitions come with the next one. */
const UNPACKED_IN_ALL = 64 * 1_048_576;
/** Messages of one partition at a time: many times what a fetch brings of real events. */
const MESSAGES = 10_000;
/** Of all partitions of one answer. */
const MESSAGES_IN_ALL = 100_000;

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
  abortedTransactions: { producerId: string; firstOffset: string }[];
  preferredReadReplica: number;
  messages: DecodedMessage[];
}

interface Protocol {
  response: { decode: (raw: Buffer) => Promise<unknown> };
}

/** What kafkajs keeps of an API: how it asks, and how it reads the answer, by version. */
interface Definition {
  protocol: (options: { version: number }) => (request: FetchRequest) => Protocol;
}

/** What reads the fields of an answer, one after the other. */
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

/** Has kafkajs read fetches with this file, and wait for them as `fetch-wait.ts` says; its version is pinned, since it offers no place for that. */
export function replaceFetches(): void {
  const definition = require('kafkajs/src/protocol/requests/fetch') as Definition;
  const { protocol } = definition;
  definition.protocol = (options) => {
    const make = protocol(options);
    const { version } = options;
    if (version < OLDEST_VERSION) return make;
    return (asked) => {
      const request = { ...asked, maxWaitTime: fetchWaitMs(asked.topics, asked.maxWaitTime) };
      const made = make(request);
      return {
        ...made,
        response: { ...made.response, decode: async (raw) => decodeFetch(raw, version, request) },
      };
    };
  };
}

/** Reads an answer. A partition whose messages cannot be read has what stands for them; errors of partitions stay. */
export function decodeFetch(raw: Buffer, version: number, request: Pick<FetchRequest, 'topics'>): object {
  const asked = new Map(
    request.topics.flatMap(({ topic, partitions }) =>
      partitions.map((one) => [`${topic}/${one.partition}`, one] as const),
    ),
  );
  const fields = new Decoder(raw);
  const throttleMs = fields.readInt32();
  const errorCode = version >= 7 ? fields.readInt16() : 0;
  const sessionId = version >= 7 ? fields.readInt32() : 0;
  let unpacked = 0;
  let messagesInAll = 0;
  const responses = [];
  for (let topics = fields.readInt32(); topics > 0; topics -= 1) {
    const topicName = fields.readString() ?? '';
    const partitions: FetchedPartition[] = [];
    for (let count = fields.readInt32(); count > 0; count -= 1) {
      const header = partitionHeader(fields, version);
      const set = fields.readBytes() ?? NO_BYTES;
      const { fetchOffset = '0', maxBytes = 0 } = asked.get(`${topicName}/${header.partition}`) ?? {};
      const fetched = {
        fetchOffset: Number(fetchOffset),
        highWatermark: Number(header.highWatermark),
        most: MESSAGES,
        enough: maxBytes * UNPACKED_TIMES,
      };
      if (header.errorCode === CORRUPT_MESSAGE) {
        const detail = 'the broker finds it corrupt';
        const messages = [unreadableFrom('corrupt', detail, set, fetched)];
        partitions.push({ ...header, errorCode: 0, messages });
        continue;
      }
      const isEnough = unpacked > UNPACKED_IN_ALL || messagesInAll > MESSAGES_IN_ALL;
      const read = isEnough ? NOTHING : decodeRecordSet(set, fetched);
      unpacked += read.unpackedBytes;
      messagesInAll += read.messages.length;
      partitions.push({ ...header, messages: read.messages });
    }
    responses.push({ topicName, partitions });
  }
  // From version 8 on a broker leaves it to the client to wait (KIP-219).
  const clientSideThrottleTime = version >= 8 ? throttleMs : 0;
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

const NOTHING = { messages: [], unpackedBytes: 0 };
const NO_BYTES = Buffer.alloc(0);

function partitionHeader(fields: Fields, version: number): Omit<FetchedPartition, 'messages'> {
  const int64 = () => String(fields.readInt64());
  return {
    partition: fields.readInt32(),
    errorCode: fields.readInt16(),
    highWatermark: int64(),
    lastStableOffset: int64(),
    lastStartOffset: version >= 5 ? int64() : '-1',
    abortedTransactions: fields.readArray(() => ({ producerId: int64(), firstOffset: int64() })),
    preferredReadReplica: version >= 11 ? fields.readInt32() : -1,
  };
}
