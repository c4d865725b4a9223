/** Makes dead letters of messages, and reads such messages loosely: which stores and customers they may name. */
import { Binary } from 'mongodb';
import { eventHeaders, type EventMessage, isStructured, MAX_MESSAGE_BYTES } from '../../events/cloud-event.ts';
import type { EventRejected } from '../../events/rejection.ts';
import { type LogMessage, valueBytesOf, valuesOf } from '../../kafka/message.ts';
import { type DeadLetter, documentId } from '../../read-models/collections.ts';
import { isId } from '../../events/fields.ts';

/** Key and headers are kept up to this size each, as a guard against a message that is all header. */
const MAX_HEADER_BYTES = 65_536;
/** The least bytes that a document needs for each header. */
const BYTES_OF_A_HEADER = 48;

export function toDeadLetter(
  topic: string,
  partition: number,
  message: LogMessage,
  rejection: EventRejected,
): DeadLetter {
  const bare = toBareLetter(topic, partition, message, rejection);
  if (message.unreadable !== undefined) return bare;
  const key = kept(message.key, MAX_HEADER_BYTES);
  const value = kept(message.value, MAX_MESSAGE_BYTES);
  const headers = keptHeaders(message.headers);
  const customers = customersIn(message);
  const isCut =
    headers.cut || (key?.length() ?? 0) < (message.key?.length ?? 0) || (value?.length() ?? 0) < valueBytesOf(message);
  const { cut: _cut, ...place } = bare;
  return {
    ...place,
    key,
    headers: headers.kept,
    value,
    kept_bytes: (key?.length() ?? 0) + headers.bytes + (value?.length() ?? 0),
    ...(isCut ? { cut: true } : {}),
    ...(customers.length > 0 ? { customers } : {}),
  };
}

/** A letter without content, which Kafka has. It reads nothing of the publisher's, so no message can make it fail. */
export function toBareLetter(
  topic: string,
  partition: number,
  message: LogMessage,
  { reason, detail }: EventRejected,
): DeadLetter {
  const now = new Date();
  const letter = { topic, partition, reason, detail, ...NOTHING_KEPT, dead_at: now };
  const unreadable = message.unreadable;
  if (unreadable === undefined) {
    const offset = Number(message.offset);
    return {
      ...letter,
      _id: `${topic}/${partition}/${offset}`,
      offset,
      value_bytes: valueBytesOf(message),
      published_at: new Date(Number(message.timestamp)),
    };
  }
  // One letter for all offsets of the batch.
  const { from, to, digest } = unreadable;
  const last = to ?? from;
  return {
    ...letter,
    _id: `${topic}/${partition}/${from}`,
    offset: from,
    value_bytes: 0,
    gathered: { count: last - from + 1, last_offset: last },
    digest,
    published_at: now,
  };
}

/** The content of a letter that keeps only place and reason. */
export const NOTHING_KEPT = {
  key: null,
  headers: [],
  value: null,
  kept_bytes: 0,
  cut: true,
} as const satisfies Partial<DeadLetter>;

function kept(bytes: Buffer | null, limit: number): Binary | null {
  return bytes === null ? null : new Binary(bytes.subarray(0, limit));
}

function keptHeaders(headers: LogMessage['headers'] = {}) {
  const kept: DeadLetter['headers'] = [];
  let bytes = 0;
  let taken = 0;
  let cut = false;
  for (const [name, header] of Object.entries(headers)) {
    for (const value of valuesOf(header)) {
      const buffer = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
      const size = Buffer.byteLength(name) + buffer.length;
      if (taken + size + BYTES_OF_A_HEADER > MAX_HEADER_BYTES) {
        cut = true;
        continue;
      }
      taken += size + BYTES_OF_A_HEADER;
      bytes += size;
      kept.push({ name, value: new Binary(buffer) });
    }
  }
  return { kept, bytes, cut };
}

/** Larger messages are not parsed: their personal data goes when the letter expires. */
const MAX_PARSED_BYTES = 4_194_304;

type Reading = { attributes: Record<string, unknown>; data: unknown; value: unknown };
type Readings = Record<'structured' | 'binary', Reading>;

/** The readable parts of an event in its content mode. */
export function readLoosely(message: EventMessage): Reading {
  const { structured, binary } = readInBothModes(message);
  const isBinary = !isStructured(eventHeaders(message.headers)) && Object.keys(binary.attributes).length > 0;
  return isBinary ? binary : structured;
}

function readInBothModes({ value: bytes, headers }: EventMessage): Readings {
  const value = parse(bytes);
  const attributes = asObject(value);
  const named = [...eventHeaders(headers)].filter(([name]) => name.startsWith('ce_'));
  return {
    structured: { attributes, data: attributes['data'] ?? decoded(attributes['data_base64']), value },
    binary: {
      attributes: Object.fromEntries(named.map(([name, text]) => [name.slice(3), text.toString()])),
      data: value,
      value,
    },
  };
}

function decoded(base64: unknown): unknown {
  return typeof base64 === 'string' ? parse(Buffer.from(base64, 'base64')) : undefined;
}

/**
 * The customers that a message is about or names, as `<store id>/<customer id>`; none if it cannot be read. It is read in both modes: the
 * error may be a header.
 */
export function customersIn(message: EventMessage): string[] {
  const readings = readInBothModes(message);
  const found = Object.values(readings).flatMap(({ attributes, data: given }) => {
    const data = asObject(given);
    const { type, subject } = attributes;
    const named = [asObject(data['customer'])['id'], data['customer_id']];
    if (typeof type === 'string' && type.includes('.customer.')) named.push(subject);
    return named.filter(isIdText);
  });
  const stores = storesIn(readings, message);
  return [...new Set(found.flatMap((id) => stores.map((store) => documentId(store, id))))];
}

export function storesNamedBy(message: EventMessage): string[] {
  return storesIn(readInBothModes(message), message);
}

function storesIn({ structured, binary }: Readings, { key }: EventMessage): string[] {
  const named = [structured.attributes['storeid'], binary.attributes['storeid'], key?.toString('utf8')];
  return [...new Set(named.filter(isIdText))];
}

function parse(value: Buffer | null): unknown {
  if (value === null || value.length > MAX_PARSED_BYTES) return undefined;
  try {
    return JSON.parse(value.toString('utf8'));
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function isIdText(value: unknown): value is string {
  return typeof value === 'string' && isId(value);
}
