/** Publishes a stream of NDJSON to an environment's topics: each line is sent or reported. */
import { ACCESS_SCHEMAS, readAccessChange } from '#shared/events/access-event.ts';
import { readChange } from '#shared/events/change.ts';
import { MAX_MESSAGE_BYTES } from '#shared/events/cloud-event.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import type { Message } from '#shared/kafka/client.ts';
import { tombstoneId } from '#shared/read-models/collections.ts';

export type Counts = ReturnType<typeof noCounts>;

export const noCounts = () => ({
  /** Events that Kafka has taken. */
  sent: 0,
  rejected: 0,
  /** Sent, though the stored record is as new. */
  outdated: 0,
  blank: 0,
  bytes: 0,
  /** The last line up to which each was sent or reported. */
  doneUpToLine: 0,
});

interface PublishOptions {
  input: AsyncIterable<Buffer>;
  send: (topic: string, messages: Message[]) => Promise<void>;
  environment: string;
  /** The W3C trace context of the messages. */
  traceparent?: string | undefined;
  /** Stops between two lines. */
  signal: AbortSignal;
  counts: Counts;
  /** Names a line that is not sent, or that changes nothing. */
  report: (line: number, reason: string, detail: string) => void;
  /** Reads the stored versions of a batch's records before it is sent. */
  stored: StoredSequences;
}

/** The reason in the report of an event that changes nothing. */
export const NOT_NEWER = 'not newer';

/** The record that an event changes, and its new version. */
export type RecordVersion = Pick<
  ReturnType<typeof readChange>,
  'entity' | 'storeId' | 'id' | 'sequence'
>;

/** The stored `sequence` of records or deletions, by `<entity>/<store>/<id>`. */
export type StoredSequences = (
  records: readonly RecordVersion[],
) => Promise<ReadonlyMap<string, number>>;

/**
 * The default `max.message.bytes` limits the messages of one request for one partition to 1 MiB.
 */
const BATCH_BYTES = 786_432;
const BATCH_MESSAGES = 2_000;
/** Roughly what Kafka's record format and a header add to a message. */
const OVERHEAD_BYTES = 96;

/**
 * Publishes until the stream ends, the signal is aborted or Kafka fails. Only one batch is under
 * way, while the next is gathered: so a store's events keep their order also in retries.
 */
export async function publishStream(options: PublishOptions): Promise<void> {
  const { input, signal, counts } = options;
  let gathered: EventLine[] = [];
  let bytes = 0;
  let underWay = Promise.resolve();
  const send = async () => {
    await underWay;
    const batch = gathered;
    underWay = noteOutdated(options, batch).then(() => sendBatch(options, batch));
    // The next send throws its failure.
    underWay.catch(() => undefined);
    [gathered, bytes] = [[], 0];
  };
  let lastLine = 0;
  try {
    for await (const lines of linesIn(counted(input, counts), MAX_MESSAGE_BYTES)) {
      for (const line of lines) {
        const event = readOrReject(line, options);
        if (event !== null) {
          const size = event.value.length + OVERHEAD_BYTES;
          if (gathered.length === BATCH_MESSAGES || bytes + size > BATCH_BYTES) await send();
          gathered.push(event);
          bytes += size;
        }
        lastLine = line.number;
        if (signal.aborted) break;
      }
      // A pipe may pause: send the lines that have come.
      if (gathered.length > 0) await send();
      if (signal.aborted) break;
    }
  } catch (error) {
    // The signal destroys the stream.
    if (!signal.aborted) throw error;
  }
  await send();
  await underWay;
  counts.doneUpToLine = lastLine;
}

export async function* counted(
  input: AsyncIterable<Buffer>,
  counts: { bytes: number },
): AsyncGenerator<Buffer> {
  for await (const chunk of input) {
    counts.bytes += chunk.length;
    yield chunk;
  }
}

function readOrReject(line: Line, { counts, report }: PublishOptions): EventLine | null {
  try {
    const event = readEventLine(line);
    if (event === null) counts.blank += 1;
    return event;
  } catch (error) {
    if (!(error instanceof EventRejected)) throw error;
    counts.rejected += 1;
    report(line.number, error.reason, error.detail);
    return null;
  }
}

async function noteOutdated(
  { stored, counts, report }: PublishOptions,
  messages: readonly EventLine[],
): Promise<void> {
  const sequences = await stored(messages.flatMap(({ record }) => record ?? []));
  for (const { line, record } of messages) {
    if (record === null) continue;
    const { entity, storeId, id, sequence } = record;
    const known = sequences.get(tombstoneId(entity, storeId, id));
    if (known === undefined || sequence > known) continue;
    counts.outdated += 1;
    const detail = `${entity} ${id} of ${storeId} is stored with sequence ${known}, so ${sequence} changes nothing`;
    report(line, NOT_NEWER, detail);
  }
}

async function sendBatch(options: PublishOptions, messages: readonly EventLine[]): Promise<void> {
  const [first] = messages;
  if (first === undefined) return;
  const { send, environment, traceparent, counts, report } = options;
  const topics = { changes: changesTopic(environment), access: accessTopic(environment) };
  const contentType = { 'content-type': 'application/cloudevents+json' };
  const headers = traceparent === undefined ? contentType : { ...contentType, traceparent };
  try {
    for (const [channel, own] of Map.groupBy(messages, (one) => one.channel)) {
      await send(
        topics[channel],
        own.map(({ storeId: key, value }) => ({ key, value, headers })),
      );
    }
    counts.sent += messages.length;
    counts.doneUpToLine = messages.at(-1)?.line ?? 0;
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    if (messages.length === 1) {
      counts.rejected += 1;
      report(
        first.line,
        'too_large',
        `Kafka does not accept a message of this size on ${topics[first.channel]}`,
      );
      return;
    }
    // One of them is too large: alone it is found. What was sent before changes nothing the second
    // time.
    for (const message of messages) await sendBatch(options, [message]);
  }
}

function isTooLarge(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('type' in error && error.type === 'MESSAGE_TOO_LARGE') || isTooLarge(error.cause);
}

export interface Line {
  /** From 1 on. */
  number: number;
  /** Without its end; `null` if the line is longer than allowed. */
  bytes: Buffer | null;
  length: number;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Splits a stream into the lines that end in each chunk, byte for byte.
 * @param maxBytes a longer line is not kept.
 */
export async function* linesIn(
  input: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<Line[]> {
  let number = 0;
  let parts: Buffer[] = [];
  let length = 0;
  let last: number | undefined;
  const append = (part: Buffer) => {
    length += part.length;
    last = part.at(-1) ?? last;
    // One byte more may be the carriage return at the line's end.
    parts = length > maxBytes + 1 ? [] : [...parts, part];
  };
  const finish = (): Line => {
    const size = length - (last === CARRIAGE_RETURN ? 1 : 0);
    const bytes = size > maxBytes ? null : Buffer.concat(parts, size);
    number += 1;
    [parts, length, last] = [[], 0, undefined];
    return { number, bytes, length: size };
  };
  for await (const chunk of input) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      append(chunk.subarray(start, end));
      lines.push(finish());
      start = end + 1;
    }
    append(chunk.subarray(start));
    yield lines;
  }
  if (length > 0) yield [finish()];
}

export interface EventLine {
  /** Its number. */
  line: number;
  /** Its topic. */
  channel: 'changes' | 'access';
  /** The message key. */
  storeId: string;
  value: Buffer;
  /** The changed record; `null` for access. */
  record: RecordVersion | null;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const BLANKS = new Set(Buffer.from(' \t\r'));

/** @returns `null` for a blank line. @throws {EventRejected} for a line that is not an event. */
export function readEventLine(line: Line): EventLine | null {
  const { bytes, number, length } = line;
  if (bytes === null) {
    const detail = `the line has ${length} bytes, at most ${MAX_MESSAGE_BYTES} are allowed`;
    throw new EventRejected('too_large', detail);
  }
  const marked = number === 1 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
  const value = marked ? bytes.subarray(3) : bytes;
  if (value.every((byte) => BLANKS.has(byte))) return null;
  const storeId = storeIdOf(value);
  return { line: number, storeId, value, ...readEvent({ key: Buffer.from(storeId), value }) };
}

/** The store that an event names; without one, the event is rejected later. */
function storeIdOf(value: Buffer): string {
  try {
    const event = JSON.parse(value.toString('utf8')) as { storeid?: unknown } | null;
    return typeof event?.storeid === 'string' ? event.storeid : '';
  } catch {
    return '';
  }
}

function readEvent(message: { key: Buffer; value: Buffer }): Pick<EventLine, 'channel' | 'record'> {
  const unlessOther = (error: unknown) => {
    if (!(error instanceof EventRejected) || error.reason !== 'unknown_type') throw error;
  };
  try {
    return { channel: 'changes', record: readChange(message) };
  } catch (error) {
    unlessOther(error);
  }
  try {
    readAccessChange(message);
    return { channel: 'access', record: null };
  } catch (error) {
    unlessOther(error);
  }
  throw new EventRejected(
    'unknown_type',
    `type is not store-data.<entity>.changed or .deleted of ${ENTITY_NAMES.join(', ')}, nor store-data.<entity>.changed ` +
      `of ${Object.keys(ACCESS_SCHEMAS).join(', ')}, nor store-data.store_quota.deleted`,
  );
}
