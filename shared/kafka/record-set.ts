/** Reads the record batches of a partition up to the first damaged one. The last may be cut. */
import {
  type BatchHeader,
  batchHeader,
  BatchRejected,
  decodeBatch,
  type Decoding,
  isAbortMarker,
  isIntact,
  MAGIC,
  PART_BYTES,
  timestampText,
  type Wanted,
} from './record-batch.ts';
import {
  type DamageReason,
  digestOf,
  HEADER_BYTES,
  type LogMessage,
  type UnreadableBatch,
} from './message.ts';

export interface Fetched extends Wanted {
  abortedTransactions: readonly AbortedTransaction[];
}

/** Never throws. `next` is the offset behind what was read, also if that holds no messages. */
export async function decodeRecordSet(set: Buffer, fetched: Fetched, decoding: Decoding) {
  const { fetchOffset, mostBytes } = fetched;
  const { budget } = decoding;
  const isAborted = followAborted(fetched.abortedTransactions);
  const messages: LogMessage[] = [];
  /** The offset behind what was read. */
  let behind: number | null = null;
  let bytes = 0;
  // The first may be the last message of the previous fetch, which proves continuity.
  const isEnough = () => messages.length >= 2 && (bytes >= mostBytes || budget.isSpent);
  for (let at = 0; at < set.length && !isEnough();) {
    const header = batchHeader(set, at);
    const isCut = header === null || header.bytes > set.length - at;
    // The bound of the fetch cuts the tail. The first batch is always whole, however large.
    if (isCut && at > 0) break;
    const damaged = damageOf(set, at, header, { behind, fetchOffset });
    if (damaged !== null || header === null) {
      if (damaged !== null) messages.push(placeholder(damaged, fetchOffset));
      behind = null;
      break;
    }
    const batch = set.subarray(at, at + header.bytes);
    behind = header.lastOffset + 1;
    if (budget.isTurnOver) await budget.yieldTurn();
    if (!isAborted(header, batch) && !header.isControl) {
      const wanted = { fetchOffset, mostBytes: mostBytes - bytes };
      const read = await readBatch(batch, header, wanted, decoding);
      for (const message of read.messages) messages.push(message);
      bytes += read.bytes;
      if (!read.isWhole) behind = Number(messages.at(-1)?.offset) + 1;
    }
    at += header.bytes;
  }
  const last = messages.at(-1);
  return {
    messages,
    next: behind ?? (last === undefined ? fetchOffset : Number(last.offset) + 1),
  };
}

async function readBatch(batch: Buffer, header: BatchHeader, wanted: Wanted, decoding: Decoding) {
  try {
    return await decodeBatch(batch, header, wanted, decoding);
  } catch (error) {
    if (!(error instanceof BatchRejected)) throw error;
    const { baseOffset: from, lastOffset: to, timestamp } = header;
    const unreadable = {
      reason: error.reason,
      detail: error.message,
      from,
      to,
      digest: digestOf(batch),
    };
    const message = {
      ...placeholder(unreadable, wanted.fetchOffset),
      timestamp: timestampText(timestamp),
    };
    return { messages: [message], bytes: PART_BYTES, isWhole: true };
  }
}

/** The placeholder of a batch that the broker did not send. */
export function damagedFrom(detail: string, set: Buffer, fetchOffset: number): LogMessage {
  const digest = digestOf(set);
  return placeholder(
    { reason: 'corrupt', detail, from: fetchOffset, to: null, digest },
    fetchOffset,
  );
}

/** How a batch differs from what was written; `null` for an intact one. */
function damageOf(
  set: Buffer,
  at: number,
  header: BatchHeader | null,
  read: { behind: number | null; fetchOffset: number },
): UnreadableBatch | null {
  const next =
    header === null || header.bytes < HEADER_BYTES ? null : batchHeader(set, at + header.bytes);
  const hasPlace = header !== null && isCredible(header, read, next);
  const damage = findDamage(set, at, header, hasPlace);
  if (damage === null) return null;
  const from = hasPlace ? header.baseOffset : Math.max(read.behind ?? 0, read.fetchOffset);
  const to = header === null ? null : lastOffset(set, at, { header, hasPlace, from, next });
  return { ...damage, from, to, digest: digestOf(set.subarray(at)) };
}

function findDamage(
  set: Buffer,
  at: number,
  header: BatchHeader | null,
  hasPlace: boolean,
): { reason: DamageReason; detail: string } | null {
  const corrupt = (detail: string) => ({ reason: 'corrupt', detail }) as const;
  if (header === null || header.bytes > set.length - at) return corrupt('it is cut');
  const { bytes, magic, baseOffset } = header;
  if (bytes < HEADER_BYTES) return corrupt(`it says that it has ${bytes} bytes`);
  if (magic !== MAGIC) {
    return { reason: 'unknown_format', detail: `its format is ${magic}; known: ${MAGIC}` };
  }
  if (!isIntact(set.subarray(at, at + bytes))) return corrupt('its checksum is wrong');
  if (!hasPlace) {
    return corrupt(
      `it says that it has the offsets ${baseOffset} to ${header.lastOffset}, which cannot be`,
    );
  }
  return null;
}

/** Whether a batch can lie where it says. No checksum covers its first offset. */
function isCredible(
  { baseOffset, lastOffset: last }: BatchHeader,
  { behind, fetchOffset }: { behind: number | null; fetchOffset: number },
  next: BatchHeader | null,
): boolean {
  if (baseOffset < (behind ?? 0)) return false;
  const follows =
    behind === null ? baseOffset <= fetchOffset && fetchOffset <= last : baseOffset === behind;
  return follows || next === null || next.baseOffset > last;
}

function placeholder(unreadable: UnreadableBatch, fetchOffset: number): LogMessage {
  const { from, to } = unreadable;
  return { ...NO_MESSAGE, offset: String(Math.max(to ?? from, fetchOffset)), unreadable };
}

const NO_MESSAGE = { key: null, value: null, headers: {}, timestamp: '0', attributes: 0 };

/** The last offset of a damaged batch; `null` if uncertain. */
function lastOffset(
  set: Buffer,
  at: number,
  {
    header: { bytes, magic, lastOffset: last, lastOffsetDelta, count },
    hasPlace,
    from,
    next,
  }: { header: BatchHeader; hasPlace: boolean; from: number; next: BatchHeader | null },
): number | null {
  if (bytes < HEADER_BYTES) return null;
  const end = at + bytes;
  // Only in this format, and only if the count agrees: producers leave no gaps.
  if (magic === MAGIC && hasPlace && count === lastOffsetDelta + 1) {
    if (next === null || next.baseOffset > last) return last;
  }
  if (next === null || next.magic !== MAGIC || next.baseOffset <= from) return null;
  const isWhole = next.bytes >= HEADER_BYTES && next.bytes <= set.length - end;
  return isWhole && isIntact(set.subarray(end, end + next.bytes)) ? next.baseOffset - 1 : null;
}

export interface AbortedTransaction {
  producerId: bigint;
  firstOffset: number;
}

/**
 * Follows the batches of one partition in the order of the log, as the Java client does
 * (`CompletedFetch`).
 * @returns a function that says whether the next batch, which is intact, holds messages that were aborted.
 */
function followAborted(transactions: readonly AbortedTransaction[]) {
  /** Those that have not begun, in the order of their beginnings, unlike in the answer. */
  const later = transactions.toSorted((a, b) => a.firstOffset - b.firstOffset);
  /** Producers with an open transaction. */
  const producers = new Set<bigint>();
  return (header: BatchHeader, batch: Buffer): boolean => {
    const { producerId, lastOffset, isControl, isTransactional } = header;
    for (let [next] = later; next !== undefined && next.firstOffset <= lastOffset; [next] = later) {
      producers.add(next.producerId);
      later.shift();
    }
    if (isControl && isAbortMarker(batch)) producers.delete(producerId);
    return !isControl && isTransactional && producers.has(producerId);
  };
}
