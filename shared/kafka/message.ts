/** A message of the log, and the placeholder for an unreadable record batch. */
import { hash } from 'node:crypto';

/** The headers of a message. A header may be repeated, and each of its values may be null. */
export type MessageHeaders = Record<string, HeaderValue | readonly HeaderValue[] | undefined>;
type HeaderValue = Buffer | string | null;

/** As kafkajs's `KafkaMessage`, but headers may be null. */
export interface LogMessage {
  key: Buffer | null;
  value: Buffer | null;
  /** The size of the value if value or key was cut: no event is so large. */
  valueBytes?: number;
  headers?: MessageHeaders;
  offset: string;
  /** When its publisher made it or Kafka took it, in milliseconds since 1970. */
  timestamp: string;
  attributes: number;
  /** The header of its batch, which identifies that. */
  batch?: Buffer;
  /** In a placeholder: the batch that cannot be read. */
  unreadable?: UnreadableBatch;
}

/** The values of a header. A null one is as if it were absent (rule R11.12). */
export function valuesOf(header: MessageHeaders[string]): (Buffer | string)[] {
  return [header].flat().filter((value) => value !== null && value !== undefined);
}

export function valueBytesOf({
  value,
  valueBytes,
}: Pick<LogMessage, 'value' | 'valueBytes'>): number {
  return valueBytes ?? value?.length ?? 0;
}

export const HEADER_BYTES = 61;

/** A message with more headers is poison; at most one more is read. */
export const MAX_HEADERS = 10_000;

/**
 * Batches that differ from what was written: their messages are unknown, so the partition stops.
 */
export type DamageReason =
  /** Its checksum is wrong, it is cut, or its offsets are impossible. */
  | 'corrupt'
  /** Its format is newer than this release. */
  | 'unknown_format';

/** Intact batches that cannot be read as messages: each is poison, with one dead letter. */
type PoisonReason =
  /** Its records contradict their lengths or counts. */
  | 'malformed'
  /** Its codec is newer than this release. */
  | 'unknown_codec'
  /** It unpacks to more than the bound. */
  | 'unpacks_too_large';

export type UnreadableReason = DamageReason | PoisonReason;

export interface UnreadableBatch {
  reason: UnreadableReason;
  /** A sentence that quotes nothing of the batch. */
  detail: string;
  /** The first offset of the batch. */
  from: number;
  /** The last one; `null` for a damaged batch whose end is unknown. */
  to: number | null;
  /** Identifies the batch: a digest of its first bytes, which every fetch has. */
  digest: string;
}

/** Whether a batch differs from what was written, so that its partition stops before it. */
export function isDamaged({ reason }: UnreadableBatch): boolean {
  return reason === 'corrupt' || reason === 'unknown_format';
}

/** The damaged batch of a placeholder; `undefined` for any other message. */
export function damagedBatch({
  unreadable,
}: Pick<LogMessage, 'unreadable'>): UnreadableBatch | undefined {
  return unreadable !== undefined && isDamaged(unreadable) ? unreadable : undefined;
}

/** The digest that identifies the batch of a message, readable or not. */
export function batchDigest({ batch, unreadable }: LogMessage): string | undefined {
  return batch === undefined ? unreadable?.digest : digestOf(batch);
}

/** The digest of the batch at the beginning of some bytes. */
export function digestOf(bytes: Buffer): string {
  return hash('sha256', bytes.subarray(0, HEADER_BYTES), 'base64url').slice(0, 22);
}

/** `12 to 40`, or `from 12 on` if the end is unknown. */
export function offsetsInWords({ from, to }: Pick<UnreadableBatch, 'from' | 'to'>): string {
  return to === null ? `from ${from} on` : `${from} to ${to}`;
}
