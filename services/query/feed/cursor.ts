/**
 * Cursors of the change feed: how far a client has followed a feed of one store. A checksum binds a
 * cursor to the feed it was made for, so that mistakes are found. Cursors are no secrets: the token
 * alone decides which store is read.
 */
import { hash } from 'node:crypto';
import { EPOCH_BYTES, epochsIn } from '#shared/read-models/feed-epochs.ts';
import type { Stamp } from '#shared/read-models/collections.ts';

/** The feed that a cursor is bound to. */
interface CursorScope {
  environment: string;
  storeId: string;
  /** The feed's name. */
  feed: string;
}

export interface Start {
  /** Changes after this position are delivered. */
  lastDelivered: number;
  /** Deletions up to this position are not. */
  skipDeletionsUpTo: number;
}

/** After the last change that was delivered, without the deletions before the walk began. */
export interface Cursor extends Start {
  /** The generation that answered (`generationMark`). */
  generation: string;
  /** The store's epoch at that moment; `null` before its first change. */
  epoch: string | null;
  /** The store's position in the snapshot that was read. */
  snapshotPosition: number;
}

const VERSION = 1;
const CHECK_BYTES = 8;
const GENERATION_BYTES = 6;
const POSITION_BYTES = 6;
const MAX_POSITION = 2 ** (8 * POSITION_BYTES) - 1;
/** A multiple of three: base64url has one way to write it. */
const BYTES = 1 + CHECK_BYTES + GENERATION_BYTES + EPOCH_BYTES + 3 * POSITION_BYTES;
const NO_EPOCH = Buffer.alloc(EPOCH_BYTES);

/** How cursors name a generation, from its marker's id. */
export function generationMark(markerId: string): string {
  return hash('sha256', markerId, 'buffer').toString('base64url', 0, GENERATION_BYTES);
}

export function encodeCursor(scope: CursorScope, cursor: Cursor): string {
  const bytes = Buffer.alloc(BYTES);
  let at = bytes.writeUInt8(VERSION) + CHECK_BYTES;
  at += Buffer.from(cursor.generation, 'base64url').copy(bytes, at);
  at += (cursor.epoch === null ? NO_EPOCH : Buffer.from(cursor.epoch, 'base64url')).copy(bytes, at);
  for (const position of [
    cursor.lastDelivered,
    cursor.snapshotPosition,
    cursor.skipDeletionsUpTo,
  ]) {
    at = bytes.writeUIntBE(Math.min(position, MAX_POSITION), at, POSITION_BYTES);
  }
  checkOf(scope, bytes).copy(bytes, 1);
  return bytes.toString('base64url');
}

/** Reads a cursor; `null` if it is malformed or of another store, environment or feed. */
export function decodeCursor(scope: CursorScope, text: string): Cursor | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== BYTES || bytes[0] !== VERSION || bytes.toString('base64url') !== text)
    return null;
  if (!checkOf(scope, bytes).equals(bytes.subarray(1, 1 + CHECK_BYTES))) return null;
  let at = 1 + CHECK_BYTES;
  const take = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const generation = take(GENERATION_BYTES).toString('base64url');
  const epoch = take(EPOCH_BYTES);
  const position = () => take(POSITION_BYTES).readUIntBE(0, POSITION_BYTES);
  return {
    generation,
    epoch: epoch.equals(NO_EPOCH) ? null : epoch.toString('base64url'),
    lastDelivered: position(),
    snapshotPosition: position(),
    skipDeletionsUpTo: position(),
  };
}

function checkOf({ environment, storeId, feed }: CursorScope, bytes: Buffer): Buffer {
  // Neither environments nor ids hold a slash.
  const scope = Buffer.from(`${environment}/${storeId}/${feed}/`);
  const content = Buffer.concat([scope, bytes.subarray(1 + CHECK_BYTES)]);
  return hash('sha256', content, 'buffer').subarray(0, CHECK_BYTES);
}

const EVERYTHING: Start = { lastDelivered: 0, skipDeletionsUpTo: 0 };
const BEGINNING: Start = { lastDelivered: 0, skipDeletionsUpTo: Infinity };
/** The store's present position, whatever that is. */
export const NOW: Start = { lastDelivered: Infinity, skipDeletionsUpTo: Infinity };

/** Where a request starts, in any generation or as its cursor says. */
export type After = Start | Cursor;

/** The position in a text: a cursor, `now` or none. `null` as of `decodeCursor`. */
export function readAfter(scope: CursorScope, text: string | null): After | null {
  if (text === null) return BEGINNING;
  // Cursors are longer.
  return text === 'now' ? NOW : decodeCursor(scope, text);
}

/**
 * Where to start, according to the stamp of the snapshot. Before the snapshot is read, the cursor
 * is taken to be valid.
 */
export function startAt(after: After, generation: string, stamp?: Stamp | null): Start {
  if (!('generation' in after)) return after;
  if (after.generation !== generation) return EVERYTHING;
  const { epoch, lastDelivered, skipDeletionsUpTo } = after;
  if (epoch === null || stamp === undefined) return { lastDelivered, skipDeletionsUpTo };
  const epochs = epochsIn(stamp?.epochs);
  const at = epochs.findIndex(({ id }) => id === epoch);
  if (at === -1) return EVERYTHING;
  const following = epochs[at + 1];
  const end = following === undefined ? (stamp?.position ?? 0) : following.from - 1;
  return {
    lastDelivered: Math.min(lastDelivered, end),
    skipDeletionsUpTo: Math.min(skipDeletionsUpTo, end),
  };
}
