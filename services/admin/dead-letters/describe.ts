/** What a dead letter says: the attributes of its event as far as they can be read, and the shape of its data. */
import { Binary } from 'mongodb';
import { readLoosely } from '#shared/projection/dead-letters/letter.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import { shortened } from '../output/print.ts';
import type { LetterSummary } from './letters.ts';
import { type LogMessage, valuesOf } from '#shared/kafka/message.ts';

/** The attributes that operators look for; the data, with what it says of people, is not among them. */
const ATTRIBUTES = [
  'specversion',
  'id',
  'source',
  'type',
  'subject',
  'time',
  'storeid',
  'sequence',
  'dataschema',
  'datacontenttype',
];
const MAX_TEXT = 200;
const MAX_LINES = 60;
const MAX_DEPTH = 6;

interface Description {
  /** What can be read of the event's attributes. */
  attributes: Record<string, string>;
  /** Names and types of the data's fields, one a line; `null` where it is no JSON. */
  structure: string[] | null;
}

/** Describes a letter without showing its data. */
export function describeLetter(letter: DeadLetter): Description {
  const { attributes: given, data, value } = readLoosely(toMessage(letter));
  const attributes = Object.fromEntries(
    ATTRIBUTES.filter((name) => given[name] !== undefined).map((name) => [name, asText(given[name])]),
  );
  return { attributes, structure: value === undefined ? null : structureOf(data ?? value) };
}

/** A letter for programs, without its message. */
export function letterJson(letter: LetterSummary): object {
  const { _id, topic, partition, offset, reason, detail, key, value_bytes, gathered } = letter;
  return {
    id: _id,
    topic,
    partition,
    offset,
    reason,
    detail,
    key: key === null ? null : toBuffer(key).toString('utf8'),
    value_bytes,
    cut: letter.cut === true,
    erased: letter.erased === true,
    gathered: gathered ?? null,
    published_at: letter.published_at,
    dead_at: letter.dead_at,
  };
}

/** Names and types, without values. */
export function structureOf(value: unknown): string[] {
  const lines: string[] = [];
  const visit = (name: string, item: unknown, depth: number) => {
    if (lines.length === MAX_LINES) lines.push('…');
    if (lines.length > MAX_LINES) return;
    lines.push(`${'  '.repeat(depth)}${name}: ${typeOf(item)}`);
    if (depth === MAX_DEPTH) return;
    if (Array.isArray(item)) {
      if (item.length > 0) visit('[0]', item[0], depth + 1);
    } else if (typeof item === 'object' && item !== null) {
      for (const [key, field] of Object.entries(item)) visit(shortened(key, 64), field, depth + 1);
    }
  };
  visit('data', value, 0);
  return lines;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `list of ${value.length}`;
  if (typeof value === 'string') return `text of ${value.length}`;
  return typeof value;
}

function asText(value: unknown): string {
  // An attribute may be anything, also nested so deep that it cannot be written.
  if (typeof value === 'object') return typeOf(value);
  return shortened(typeof value === 'string' ? value : JSON.stringify(value), MAX_TEXT);
}

/** The message as the projector reads it, as far as it is kept. */
export function toMessage(letter: DeadLetter): LogMessage {
  const named = Map.groupBy(letter.headers, ({ name }) => name);
  return {
    key: letter.key === null ? null : toBuffer(letter.key),
    value: letter.value === null ? null : toBuffer(letter.value),
    headers: Object.fromEntries(
      [...named].map(([name, same]) => [name, same.map(({ value }) => toBuffer(value))]),
    ),
    offset: String(letter.offset),
    timestamp: String(letter.published_at.getTime()),
    attributes: 0,
  };
}

/** A letter with the message that Kafka has of it. */
export function withMessage(letter: DeadLetter, { key, value, headers }: LogMessage): DeadLetter {
  return {
    ...letter,
    key: key === null ? null : new Binary(key),
    value: value === null ? null : new Binary(value),
    headers: Object.entries(headers ?? {}).flatMap(([name, header]) =>
      valuesOf(header).map((bytes) => ({ name, value: new Binary(Buffer.from(bytes)) })),
    ),
  };
}

/** The bytes of a stored binary. */
export function toBuffer(binary: Binary): Buffer {
  return Buffer.from(binary.value());
}
