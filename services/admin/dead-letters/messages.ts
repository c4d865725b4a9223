/**
 * The message of a dead letter, from Kafka if the letter does not keep all of it, and the parts
 * that may be shown.
 */
import { StoreDataError } from '#shared/errors.ts';
import { ATTRIBUTES } from '#shared/events/cloud-event.ts';
import { type LogMessage, valuesOf } from '#shared/kafka/message.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import type { LogReader } from '#shared/kafka/log-reader.ts';
import { Binary } from 'mongodb';
import { readLoosely } from '#shared/projection/dead-letters/letter.ts';
import { getOrInsert } from '#shared/maps.ts';
import { shortened } from '../output.ts';
import type { LetterSummary } from './letters.ts';

/** Letters this close are read together, with the messages between them. */
const NEAR = 1_000;

/** The codes of errors for messages that are gone or unreadable. */
const MISSING = new Set<string>(['history_lost', 'batch_unreadable']);

type PlaceOfLetter = Pick<DeadLetter, '_id' | 'partition' | 'offset' | 'published_at' | 'gathered'>;

/**
 * The messages of letters of one partition, by letter id; of a batch all, if it can be read now. Messages that Kafka no longer has, or
 * has replaced by others, are missing.
 * @param letters in the order of their offsets.
 * @throws {StoreDataError} `environment_unavailable`.
 */
export async function messagesOf(
  reader: LogReader,
  letters: readonly PlaceOfLetter[],
): Promise<Map<string, LogMessage[]>> {
  const found = new Map<string, LogMessage[]>();
  for (const part of parts(letters)) {
    try {
      await reader.read({ partition: letters[0]?.partition ?? 0, ...part }, (messages) => {
        for (const message of messages) {
          if (message.unreadable !== undefined) continue;
          const letter = letters.find((one) => isOf(one, message));
          if (letter !== undefined) getOrInsert(found, letter._id, () => []).push(message);
        }
      });
    } catch (error) {
      if (!(error instanceof StoreDataError) || !MISSING.has(error.code)) throw error;
    }
  }
  return found;
}

function isOf({ offset, gathered, published_at }: PlaceOfLetter, message: LogMessage): boolean {
  const at = Number(message.offset);
  if (gathered !== undefined) return offset <= at && at <= gathered.last_offset;
  return offset === at && published_at.getTime() === Number(message.timestamp);
}

/** Parts of the log that hold the letters, near ones together. */
function parts(letters: readonly PlaceOfLetter[]): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (const { offset, gathered } of letters) {
    const last = found.at(-1);
    const to = (gathered?.last_offset ?? offset) + 1;
    if (last !== undefined && offset - last.to < NEAR) last.to = Math.max(last.to, to);
    else found.push({ from: offset, to });
  }
  return found;
}

const MAX_TEXT = 200;
const MAX_LINES = 60;
const MAX_DEPTH = 6;

/**
 * The readable attributes, and the names and types of the data's fields, one a line; never the data
 * itself.
 */
export function describeLetter(letter: DeadLetter) {
  const { attributes: given, data, value } = readLoosely(toMessage(letter));
  const attributes = Object.fromEntries(
    ATTRIBUTES.filter((name) => given[name] !== undefined).map((name) => [
      name,
      asText(given[name]),
    ]),
  );
  return { attributes, structure: value === undefined ? null : structureOf(data ?? value) };
}

export function letterJson(letter: LetterSummary) {
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
  // An attribute may be nested too deep for JSON.stringify.
  if (typeof value === 'object') return typeOf(value);
  return shortened(typeof value === 'string' ? value : JSON.stringify(value), MAX_TEXT);
}

/** The kept part of the message, as the projector reads it. */
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

export function toBuffer(binary: Binary): Buffer {
  return Buffer.from(binary.value());
}
