/**
 * Reads a CloudEvent from a Kafka message: both content modes, every attribute checked (rules R11.2
 * to R11.9).
 */
import { isUtf8 } from 'node:buffer';
import {
  type LogMessage,
  MAX_HEADERS,
  type MessageHeaders,
  offsetsInWords,
  valueBytesOf,
  valuesOf,
} from '../kafka/message.ts';
import { isId } from './fields.ts';
import { parseInstant } from './instant.ts';
import { EventRejected, invalidAttribute } from './rejection.ts';

export const LAST_SEQUENCE = Number.MAX_SAFE_INTEGER;

/** A larger message is poison, whatever it holds. */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** The attributes without the data, which holds personal data: commands show these. */
export const ATTRIBUTES =
  'specversion id source type subject time storeid sequence dataschema datacontenttype'.split(' ');

const TYPE_PREFIX = 'store-data.';

export type EventMessage = Pick<LogMessage, 'key' | 'value' | 'headers' | 'unreadable'>;

export interface CloudEvent {
  id: string;
  source: string;
  entity: string;
  action: 'changed' | 'deleted';
  subject: string;
  storeId: string;
  sequence: number;
  time: number;
  schemaVersion: number;
  data: unknown;
}

export function readCloudEvent(message: EventMessage): CloudEvent {
  const { key, value } = message;
  const unreadable = message.unreadable;
  if (unreadable !== undefined) {
    const { reason, detail } = unreadable;
    throw new EventRejected(
      'unreadable',
      `the record batch of the offsets ${offsetsInWords(unreadable)} cannot be read (${reason}): ${detail}`,
    );
  }
  if (value !== null && value.length > MAX_MESSAGE_BYTES) {
    throw new EventRejected(
      'too_large',
      `the message has ${valueBytesOf(message)} bytes, at most ${MAX_MESSAGE_BYTES} are allowed`,
    );
  }
  if (headerCount(message.headers) > MAX_HEADERS) {
    throw new EventRejected('too_large', `the message has more than ${MAX_HEADERS} headers`);
  }
  const headers = readHeaders(message.headers);
  const attributes = isStructured(headers) ? readStructured(value) : readBinary(headers, value);
  const event = readAttributes(attributes);
  if (key === null || key.toString('utf8') !== event.storeId) {
    throw new EventRejected('key_mismatch', 'the message key is not the storeid');
  }
  return event;
}

type Attributes = Record<string, unknown>;

const CONTENT_TYPE = 'content-type';

/** The headers of an event; others may hold anything (rule R11.12). */
const EVENT_HEADER = /^(?:content-type$|ce_)/i;

/** The headers of an event, by their names in lower case; of each the first value. */
export function eventHeaders(headers: MessageHeaders = {}): Map<string, Buffer | string> {
  const found = new Map<string, Buffer | string>();
  for (const [name, header] of Object.entries(headers)) {
    if (!EVENT_HEADER.test(name)) continue;
    const lowerCase = name.toLowerCase();
    const [first] = valuesOf(header);
    if (first !== undefined && !found.has(lowerCase)) found.set(lowerCase, first);
  }
  return found;
}

function headerCount(headers: MessageHeaders = {}): number {
  return Object.values(headers).flat().length;
}

function readHeaders(headers: EventMessage['headers']): Map<string, string> {
  const read = new Map<string, string>();
  for (const [name, value] of eventHeaders(headers)) {
    if (typeof value !== 'string' && !isUtf8(value)) {
      throw new EventRejected(
        'not_a_cloud_event',
        'the header content-type or a ce_ header is not UTF-8',
      );
    }
    read.set(name, value.toString());
  }
  return read;
}

/** Whether it is an event in structured mode (rule R11.2). @param headers those of the event. */
export function isStructured(headers: ReadonlyMap<string, Buffer | string>): boolean {
  const contentType = mediaType(headers.get(CONTENT_TYPE));
  if (contentType === 'application/cloudevents+json') return true;
  return (
    (contentType === undefined || isJsonMediaType(contentType)) && !hasCloudEventHeader(headers)
  );
}

function hasCloudEventHeader(headers: ReadonlyMap<string, unknown>): boolean {
  return headers.keys().some((name) => name.startsWith('ce_'));
}

function mediaType(value: Buffer | string | undefined): string | undefined {
  return value?.toString().split(';', 1)[0]?.trim().toLowerCase();
}

function isJsonMediaType(type: string): boolean {
  return type === 'application/json' || type === 'text/json' || type.endsWith('+json');
}

function readStructured(value: Buffer | null): Attributes {
  const parsed = parseJson(value);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new EventRejected('malformed', 'the message is not a JSON object');
  }
  const attributes = parsed as Attributes;
  const type = attributes['datacontenttype'];
  if (type !== undefined && type !== null) {
    if (typeof type !== 'string' || !isJsonMediaType(mediaType(type) ?? '')) {
      throw invalidAttribute('datacontenttype is not JSON');
    }
  }
  const base64 = attributes['data_base64'];
  return base64 === undefined || base64 === null ? attributes : withDecodedData(attributes, base64);
}

function withDecodedData(attributes: Attributes, base64: unknown): Attributes {
  if (attributes['data'] !== undefined && attributes['data'] !== null) {
    throw invalidAttribute('there are both data and data_base64');
  }
  const bytes = typeof base64 === 'string' ? Buffer.from(base64, 'base64') : null;
  // Node's decoder skips characters that are not Base64.
  if (bytes === null || bytes.toString('base64') !== base64) {
    throw invalidAttribute('data_base64 is not Base64');
  }
  return { ...attributes, data: bytes.length === 0 ? undefined : parseJson(bytes, 'data_base64') };
}

function readBinary(headers: Map<string, string>, value: Buffer | null): Attributes {
  if (!hasCloudEventHeader(headers)) {
    throw new EventRejected(
      'not_a_cloud_event',
      'the content type is not JSON and there are no ce_ headers',
    );
  }
  const attributes: Attributes = {};
  for (const [name, text] of headers) if (name.startsWith('ce_')) attributes[name.slice(3)] = text;
  delete attributes['data'];
  if (value !== null && value.length > 0) {
    const contentType = mediaType(headers.get(CONTENT_TYPE));
    if (contentType !== undefined && !isJsonMediaType(contentType)) {
      throw new EventRejected('not_a_cloud_event', 'the content type of the data is not JSON');
    }
    attributes['data'] = parseJson(value);
  }
  return attributes;
}

function parseJson(value: Buffer | null, what = 'the message'): unknown {
  if (value === null || value.length === 0)
    throw new EventRejected('malformed', `${what} is empty`);
  if (!isUtf8(value)) throw new EventRejected('malformed', `${what} is not UTF-8`);
  try {
    return JSON.parse(value.toString('utf8'));
  } catch (error) {
    // The parser's message quotes the text, which may hold personal data.
    throw new EventRejected('malformed', `${what} is not JSON`, { cause: error });
  }
}

function readAttributes(attributes: Attributes): CloudEvent {
  if (attributes['specversion'] !== '1.0') {
    throw invalidAttribute('specversion is not "1.0"');
  }
  const id = text(attributes, 'id');
  const source = text(attributes, 'source');
  const type = text(attributes, 'type');
  const subject = text(attributes, 'subject');
  const storeId = text(attributes, 'storeid');
  if (!isId(storeId)) {
    throw invalidAttribute('storeid is not 1 to 64 of A-Z a-z 0-9 _ -');
  }
  const time = parseInstant(text(attributes, 'time'));
  if (time === null) throw invalidAttribute('time is not an RFC 3339 date-time with a zone');
  return {
    id,
    source,
    ...readType(type),
    subject,
    storeId,
    sequence: readSequence(attributes['sequence']),
    time,
    schemaVersion: readSchemaVersion(attributes['dataschema']),
    data: attributes['data'],
  };
}

function text(attributes: Attributes, name: string): string {
  const value = attributes[name];
  if (typeof value !== 'string' || value === '') {
    throw invalidAttribute(`${name} is not a text of at least one character`);
  }
  if (value.includes('\0') || !value.isWellFormed()) {
    throw invalidAttribute(`${name} holds NUL or a lone surrogate`);
  }
  return value;
}

function readType(type: string): { entity: string; action: 'changed' | 'deleted' } {
  if (type.startsWith(TYPE_PREFIX)) {
    const dot = type.lastIndexOf('.');
    const entity = type.slice(TYPE_PREFIX.length, dot);
    const action = type.slice(dot + 1);
    if (entity !== '' && (action === 'changed' || action === 'deleted')) return { entity, action };
  }
  throw new EventRejected(
    'unknown_type',
    'type is not store-data.<entity>.changed or store-data.<entity>.deleted',
  );
}

/**
 * The entity that a type names, however wrong the rest of its event is; `null` for another text.
 */
export function entityInType(type: unknown): string | null {
  return /^store-data\.(\w+)\.(?:changed|deleted)$/.exec(String(type))?.[1] ?? null;
}

function readSequence(value: unknown): number {
  // Libraries that know its type send a JSON integer.
  const digits = Number.isInteger(value) ? String(value) : value;
  if (typeof digits === 'string' && /^[0-9]+$/.test(digits)) {
    const sequence = Number(digits);
    if (Number.isSafeInteger(sequence)) return sequence;
  }
  throw invalidAttribute('sequence is not a whole number in decimal digits of at most 2^53-1');
}

function readSchemaVersion(dataschema: unknown): number {
  if (dataschema === undefined || dataschema === null) return 1;
  const version =
    typeof dataschema === 'string'
      ? /^(?:[^?#]*\/)?v?([1-9][0-9]{0,8})(?:[?#]|$)/.exec(dataschema)
      : null;
  if (version === null) {
    throw new EventRejected(
      'unknown_schema_version',
      'the last path segment of dataschema is not a version such as v1',
    );
  }
  return Number(version[1]);
}
