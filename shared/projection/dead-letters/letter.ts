/**
 * Makes dead letters of messages, and reads such messages loosely: which stores and customers they
 * may name.
 */
import { Binary } from 'mongodb';
import {
  entityInType,
  eventHeaders,
  type EventMessage,
  isStructured,
  MAX_MESSAGE_BYTES,
} from '../../events/cloud-event.ts';
import { ENTITY_NAMES, type EntityName } from '../../events/entities.ts';
import type { EventRejected } from '../../events/rejection.ts';
import { type LogMessage, valueBytesOf, valuesOf } from '../../kafka/message.ts';
import { type DeadLetter, documentId } from '../../read-models/collections.ts';
import { isId } from '../../events/fields.ts';
import { identityOf } from '../slice/checkpoint.ts';

/**
 * Key and headers are kept up to this size each, as a guard against a message that is all header.
 */
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
    headers.cut ||
    (key?.length() ?? 0) < (message.key?.length ?? 0) ||
    (value?.length() ?? 0) < valueBytesOf(message);
  const { cut: _cut, ...place } = bare;
  return {
    ...place,
    key,
    headers: headers.kept,
    value,
    kept_bytes: (key?.length() ?? 0) + headers.bytes + (value?.length() ?? 0),
    ...(isCut && { cut: true }),
    ...(customers.length > 0 && { customers }),
  };
}

/**
 * A letter without content, which Kafka has. It reads nothing of the publisher's, so no message can
 * make it fail.
 */
export function toBareLetter(
  topic: string,
  partition: number,
  message: LogMessage,
  { reason, detail }: EventRejected,
): DeadLetter {
  const { unreadable } = message;
  const dead_at = new Date();
  const offset = unreadable?.from ?? Number(message.offset);
  const _id = `${topic}/${partition}/${offset}`;
  const letter = { _id, topic, partition, offset, reason, detail, ...NOTHING_KEPT, dead_at };
  if (unreadable === undefined) {
    return {
      ...letter,
      value_bytes: valueBytesOf(message),
      digest: identityOf(message).digest,
      published_at: new Date(Number(message.timestamp)),
    };
  }
  // One letter for all offsets of the batch.
  const { to, digest } = unreadable;
  const last_offset = to ?? offset;
  const gathered = { count: last_offset - offset + 1, last_offset };
  return { ...letter, value_bytes: 0, gathered, digest, published_at: dead_at };
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

/** Larger messages are not parsed: they may name anybody. */
const MAX_PARSED_BYTES = 4_194_304;

type Reading = { attributes: Record<string, unknown>; data: unknown; value: unknown };
type Readings = Record<'structured' | 'binary', Reading>;

/** The readable parts of an event in its content mode. */
export function readLoosely(message: EventMessage): Reading {
  const { structured, binary } = readInBothModes(message);
  const isBinary =
    !isStructured(eventHeaders(message.headers)) && Object.keys(binary.attributes).length > 0;
  return isBinary ? binary : structured;
}

function readInBothModes({ value: bytes, headers }: EventMessage): Readings {
  const value = parse(bytes);
  const attributes = asObject(value);
  const named = [...eventHeaders(headers)].filter(([name]) => name.startsWith('ce_'));
  return {
    structured: {
      attributes,
      data: attributes['data'] ?? decoded(attributes['data_base64']),
      value,
    },
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

/** A member with such a name may name a customer, and what is in it belongs to one. */
const NAMES_A_CUSTOMER = /custom|client|consum|buyer|compr|user|usu[aá]r|guest|person|pessoa/i;
/** Of such a member, what is its id, and what is not though it may look like one. */
const IS_AN_ID = /(?:id|code|key|ref|number)$/i;
const IS_OTHER = /name|nome|phone|fone|mail|document/i;
/** A message that names more may be about anybody. */
const MAX_CUSTOMERS = 100;

/**
 * Whom a message may name, as `<store id>/<customer id>`. Where that is not certain, `<store id>/`
 * stands for anybody of the store, and `/` for anybody if no store is named. It is read in both
 * modes: the error may be a header.
 */
export function customersIn(message: EventMessage): string[] {
  const readings = readInBothModes(message);
  const { structured, binary } = readings;
  const found: Found = { ids: new Set(), isNamed: false, isOdd: false };
  let known: string | null = null;
  for (const { attributes, data } of [structured, binary]) {
    const { type, subject } = attributes;
    const entity = entityInType(type);
    if (isEntityName(entity)) known = entity;
    if (type === undefined || (isEntityName(entity) && entity !== 'customer')) continue;
    for (const id of [subject, asObject(data)['id']]) addId(found.ids, id);
  }
  // Some publishers send JSON as a text.
  const text =
    typeof structured.data === 'string' ? parse(Buffer.from(structured.data)) : structured.data;
  for (const part of [structured.value, text, binary.attributes]) findNamed(part, found);
  const { ids, isNamed, isOdd } = found;
  const { data, data_base64: base64 } = structured.attributes;
  const isComplete =
    isObject(structured.value) && (isObject(text) || (data ?? base64 ?? null) === null);
  const namesNobody = ids.size === 0 && !isNamed && known !== 'customer';
  const isCertain =
    known !== null &&
    isComplete &&
    !isOdd &&
    (ids.size > 0 || namesNobody) &&
    ids.size <= MAX_CUSTOMERS;
  const stores = storesIn(readings, message);
  const customers = [...ids]
    .slice(0, MAX_CUSTOMERS)
    .flatMap((id) => stores.map((store) => documentId(store, id)));
  if (isCertain && (stores.length > 0 || namesNobody)) return customers;
  return [...customers, ...(stores.length > 0 ? stores : ['']).map(anybodyOf)];
}

/** Stands for every customer of a store; of the environment, if the store is not known either. */
export function anybodyOf(storeId: string): string {
  return documentId(storeId, '');
}

export function isAnybody(customer: string): boolean {
  return customer.endsWith('/');
}

interface Found {
  ids: Set<string>;
  /** Whether a member may name a customer. */
  isNamed: boolean;
  /** Whether such an id has not the shape of one. */
  isOdd: boolean;
}

/** Finds the ids in members that may name a customer, at any depth: numbers and texts alike. */
function findNamed(root: unknown, found: Found): void {
  // A message may be nested deeper than the stack allows.
  const open = [{ value: root, name: '', isNamed: false }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, name, isNamed } = next;
    if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) {
        const inList = Array.isArray(value);
        open.push({
          value: member,
          name: inList ? name : key,
          isNamed: isNamed || (!inList && NAMES_A_CUSTOMER.test(key)),
        });
      }
    } else if (isNamed && value !== null) {
      found.isNamed = true;
      const isId = IS_AN_ID.test(name) || (NAMES_A_CUSTOMER.test(name) && !IS_OTHER.test(name));
      if (isId && !addId(found.ids, value)) found.isOdd = true;
    }
  }
}

/** @returns whether the value is an id. */
function addId(ids: Set<string>, value: unknown): boolean {
  const id = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof id !== 'string' || !isId(id.trim())) return false;
  ids.add(id.trim());
  return true;
}

function isEntityName(entity: string | null): entity is EntityName {
  return (ENTITY_NAMES as readonly (string | null)[]).includes(entity);
}

export function storesNamedBy(message: EventMessage): string[] {
  return storesIn(readInBothModes(message), message);
}

function storesIn({ structured, binary }: Readings, { key }: EventMessage): string[] {
  const stores = new Set<string>();
  for (const named of [
    structured.attributes['storeid'],
    binary.attributes['storeid'],
    key?.toString('utf8'),
  ]) {
    addId(stores, named);
  }
  return [...stores];
}

function parse(value: Buffer | null): unknown {
  if (value === null || value.length > MAX_PARSED_BYTES) return undefined;
  try {
    return JSON.parse(value.toString('utf8'));
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
