/**
 * Reads what a fetch brought of one partition: whole record batches one after the other, of which the last may be cut. A batch that
 * cannot be read is followed by those behind it; the consumer decides whether to go on there.
 */
import { hash } from 'node:crypto';
import { MAX_UNPACKED_BYTES } from './codecs.ts';
import {
  BatchRejected,
  type BatchHeader,
  batchHeader,
  decodeBatch,
  type DecodedMessage,
  HEADER_BYTES,
  isIntact,
  MAGIC,
} from './record-batch.ts';
import type { UnreadableBatch, UnreadableReason } from './unreadable.ts';

export interface RecordSet {
  messages: DecodedMessage[];
  unpackedBytes: number;
}

export interface Fetched {
  /** From which offset on was asked. */
  fetchOffset: number;
  highWatermark: number;
  /** So many messages are read, headers counted as well, and two in any case. The rest comes with the next fetch. */
  most: number;
  /** Once more than this is unpacked behind the first batch, which may hold little that was asked for, the rest comes with the next fetch. */
  enough: number;
}

/** Reads a partition's record set. Never throws: what cannot be read stands among the messages. */
export function decodeRecordSet(set: Buffer, fetched: Fetched): RecordSet {
  const result: RecordSet = { messages: [], unpackedBytes: 0 };
  /** The offset behind the batches before. */
  let behind: number | null = null;
  let unpackedBehindFirst = 0;
  let room = fetched.most;
  const isEnough = () => unpackedBehindFirst > fetched.enough || (room <= 0 && result.messages.length >= 2);
  for (let at = 0; at < set.length && !isEnough();) {
    const header = batchHeader(set, at);
    const isCut = header === null || header.bytes > set.length - at;
    // The tail is cut by the bound of the fetch. The first batch is always whole, however large.
    if (isCut && at > 0) break;
    const next = header === null || header.bytes < HEADER_BYTES ? null : batchHeader(set, at + header.bytes);
    const hasPlace: boolean = header !== null && isCredible(header, behind, next, fetched);
    try {
      if (isCut) throw new BatchRejected('corrupt', 'it is cut');
      checkHeader(header, hasPlace);
      const batch = set.subarray(at, at + header.bytes);
      const wanted = { from: fetched.fetchOffset, most: room };
      const { messages, parts, unpackedBytes } = decodeBatch(batch, MAX_UNPACKED_BYTES, wanted);
      for (const message of messages) result.messages.push(message);
      room -= parts;
      result.unpackedBytes += unpackedBytes;
      if (at > 0) unpackedBehindFirst += unpackedBytes;
      behind = header.baseOffset + header.lastOffsetDelta + 1;
    } catch (error) {
      if (!(error instanceof BatchRejected)) throw error;
      const from: number =
        hasPlace && header !== null ? header.baseOffset : Math.max(behind ?? 0, fetched.fetchOffset);
      const to: number | null =
        header === null ? null : lastOffset(set, at, { header, hasPlace, from, next });
      const digest = digestOf(set.subarray(at, at + HEADER_BYTES));
      const { reason, message: detail } = error;
      result.messages.push(standIn({ reason, detail, from, to, digest }, fetched));
      if (to === null) break;
      behind = to + 1;
    }
    at += header?.bytes ?? 0;
  }
  return result;
}

/** What stands for a batch that was not sent or whose bytes tell nothing. */
export function unreadableFrom(
  reason: UnreadableReason,
  detail: string,
  set: Buffer,
  fetched: Fetched,
): DecodedMessage {
  const digest = digestOf(set.subarray(0, HEADER_BYTES));
  return standIn({ reason, detail, from: fetched.fetchOffset, to: null, digest }, fetched);
}

/** Whether a batch can lie where it says. No checksum covers its first offset. */
function isCredible(
  { baseOffset, lastOffsetDelta }: BatchHeader,
  behind: number | null,
  next: BatchHeader | null,
  { fetchOffset, highWatermark }: Fetched,
): boolean {
  const last = baseOffset + lastOffsetDelta;
  if (baseOffset < (behind ?? 0) || lastOffsetDelta < 0 || last >= highWatermark) return false;
  const follows = behind === null ? baseOffset <= fetchOffset && fetchOffset <= last : baseOffset === behind;
  return follows || next === null || next.baseOffset > last;
}

function checkHeader({ magic, bytes, baseOffset, lastOffsetDelta }: BatchHeader, hasPlace: boolean): void {
  if (bytes < HEADER_BYTES) throw new BatchRejected('corrupt', `it says that it has ${bytes} bytes`);
  if (magic !== MAGIC) {
    throw new BatchRejected('unknown_format', `its format is ${magic}, and ${MAGIC} is known`);
  }
  if (!hasPlace) {
    const offsets = `${baseOffset} to ${baseOffset + lastOffsetDelta}`;
    throw new BatchRejected('corrupt', `it says that it has the offsets ${offsets}, which cannot be`);
  }
}

function digestOf(bytes: Buffer): string {
  return hash('sha256', bytes, 'base64url').slice(0, 22);
}

function standIn(unreadable: UnreadableBatch, { fetchOffset }: Fetched): DecodedMessage {
  const { from, to } = unreadable;
  return {
    key: null,
    value: null,
    headers: {},
    // kafkajs leaves out what lies below what was asked for.
    offset: String(Math.max(to ?? from, fetchOffset)),
    timestamp: '0',
    attributes: 0,
    isControlRecord: false,
    batchContext: { producerId: '-1', inTransaction: false },
    unreadable,
  };
}

/** The last offset of a batch that cannot be read, as far as it is certain; `null` where it is not. */
function lastOffset(
  set: Buffer,
  at: number,
  {
    header: { bytes, magic, baseOffset, lastOffsetDelta, count },
    hasPlace,
    from,
    next,
  }: { header: BatchHeader; hasPlace: boolean; from: number; next: BatchHeader | null },
): number | null {
  if (bytes < HEADER_BYTES) return null;
  const end = at + bytes;
  // In a newer format these fields may be others. The count is a second witness: producers leave no gaps.
  if (magic === MAGIC && hasPlace && (count === lastOffsetDelta + 1 || isIntact(set.subarray(at, end)))) {
    const last = baseOffset + lastOffsetDelta;
    if (next === null || next.baseOffset > last) return last;
  }
  if (next === null || next.magic !== MAGIC || next.baseOffset <= from) return null;
  const isWhole = next.bytes >= HEADER_BYTES && next.bytes <= set.length - end;
  return isWhole && isIntact(set.subarray(end, end + next.bytes)) ? next.baseOffset - 1 : null;
}
