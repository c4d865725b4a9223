/** From a line of NDJSON to the message that carries it, checked by the very readers that the projector uses. */
import { readAccessChange } from '#shared/events/access-event.ts';
import { readChange } from '#shared/events/change.ts';
import { MAX_MESSAGE_BYTES } from '#shared/events/cloud-event.ts';
import { ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import type { Line } from './line-splitter.ts';

export interface EventLine {
  /** Which of the environment's two topics it belongs to. */
  channel: 'changes' | 'access';
  /** The message key. */
  storeId: string;
  value: Buffer;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads a line. @returns `null` for a blank one. @throws {EventRejected} when it is no event. */
export function readEventLine(line: Line): EventLine | null {
  const { bytes, number, length } = line;
  if (bytes === null) {
    throw new EventRejected(
      'too_large',
      `the line has ${length} bytes, at most ${MAX_MESSAGE_BYTES} are allowed`,
    );
  }
  const marked = number === 1 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
  const value = marked ? bytes.subarray(3) : bytes;
  if (isBlank(value)) return null;
  const found = findStoreId(value);
  try {
    return read(value, found);
  } catch (error) {
    if (!(error instanceof EventRejected) || error.reason !== 'key_mismatch') throw error;
    return read(value, parseStoreId(value));
  }
}

/** The readers compare the key with the event's store, so a wrong one never goes unnoticed. */
function read(value: Buffer, storeId: string | null): EventLine {
  const message = { key: storeId === null ? null : Buffer.from(storeId), value };
  const channel = channelOf(message);
  if (storeId === null) throw new EventRejected('invalid_attribute', 'storeid is missing');
  return { channel, storeId, value };
}

function channelOf(message: { key: Buffer | null; value: Buffer }): EventLine['channel'] {
  try {
    readChange(message);
    return 'changes';
  } catch (error) {
    if (!(error instanceof EventRejected) || error.reason !== 'unknown_type') throw error;
  }
  try {
    readAccessChange(message);
    return 'access';
  } catch (error) {
    if (!(error instanceof EventRejected) || error.reason !== 'unknown_type') throw error;
    throw new EventRejected(
      'unknown_type',
      `type is not store-data.<entity>.changed or .deleted of ${ENTITY_NAMES.join(', ')}, nor store-data.access_key.changed or store-data.store_access.changed`,
    );
  }
}

/** Finds the store without parsing the line twice: right wherever the attribute stands before the data. */
function findStoreId(value: Buffer): string | null {
  const at = value.indexOf('"storeid"');
  if (at === -1) return null;
  const found = /^"storeid"\s*:\s*"([A-Za-z0-9_-]{1,64})"/.exec(value.toString('latin1', at, at + 96));
  return found?.[1] ?? null;
}

function parseStoreId(value: Buffer): string | null {
  const event: unknown = JSON.parse(value.toString('utf8'));
  if (typeof event !== 'object' || event === null || !('storeid' in event)) return null;
  return typeof event.storeid === 'string' ? event.storeid : null;
}

function isBlank(value: Buffer): boolean {
  for (const byte of value) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}
