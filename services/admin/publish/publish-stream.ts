/** Publishes a stream of NDJSON to an environment's topics: each line is sent or reported, and nothing stops at a bad one. */
import type { Producer } from 'kafkajs';
import { MAX_MESSAGE_BYTES } from '#shared/events/cloud-event.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { BatchSender } from './batch-sender.ts';
import { type EventLine, readEventLine } from './event-line.ts';
import { type Line, LineSplitter } from './line-splitter.ts';

export interface Counts {
  /** Events that Kafka has taken. */
  sent: number;
  rejected: number;
  blank: number;
  bytes: number;
  /** Up to this line, itself included, each was sent or reported. */
  doneUpToLine: number;
}

export interface PublishOptions {
  input: AsyncIterable<Buffer>;
  producer: Pick<Producer, 'sendBatch'>;
  environment: string;
  /** As of the sender. */
  traceparent?: string | undefined;
  /** Stops between two lines; what was sent by then is counted. */
  signal: AbortSignal;
  /** Kept up to date while it runs. */
  counts: Counts;
  rejected: (line: number, rejection: EventRejected) => void;
}

export const noCounts = (): Counts => ({ sent: 0, rejected: 0, blank: 0, bytes: 0, doneUpToLine: 0 });

/** Publishes until the stream ends, the signal comes or Kafka fails; then `counts` tells how far it came. */
export async function publishStream(options: PublishOptions): Promise<void> {
  const { input, producer, environment, traceparent, signal, counts, rejected } = options;
  const topics = { changes: changesTopic(environment), access: accessTopic(environment) };
  const reject = (line: number, rejection: EventRejected) => {
    counts.rejected += 1;
    rejected(line, rejection);
  };
  const sender = new BatchSender({
    producer,
    traceparent,
    sent: (messages) => {
      counts.sent += messages.length;
      counts.doneUpToLine = Math.max(counts.doneUpToLine, messages.at(-1)?.line ?? 0);
    },
    refused: ({ topic, line }) =>
      reject(line, new EventRejected('too_large', `Kafka takes no message of this size on ${topic}`)),
  });
  let lastLine = 0;
  const take = async (line: Line) => {
    const event = readOrReject(line, reject, counts);
    if (event !== null) {
      const { channel, storeId, value } = event;
      await sender.add({ topic: topics[channel], key: storeId, value, line: line.number });
    }
    lastLine = line.number;
  };

  const splitter = new LineSplitter(MAX_MESSAGE_BYTES);
  try {
    for await (const chunk of input) {
      counts.bytes += chunk.length;
      for (const line of splitter.push(chunk)) {
        await take(line);
        if (signal.aborted) break;
      }
      if (signal.aborted) break;
      // A pipe may bring nothing more for a while: what has come goes on now.
      sender.kick();
    }
    if (!signal.aborted) for (const line of splitter.end()) await take(line);
  } catch (error) {
    // A stream that is waited for ends by being destroyed.
    if (!signal.aborted) throw error;
  }
  await sender.finish();
  counts.doneUpToLine = lastLine;
}

function readOrReject(
  line: Line,
  reject: (line: number, rejection: EventRejected) => void,
  counts: Counts,
): EventLine | null {
  try {
    const event = readEventLine(line);
    if (event === null) counts.blank += 1;
    return event;
  } catch (error) {
    if (!(error instanceof EventRejected)) throw error;
    reject(line.number, error);
    return null;
  }
}
