/**
 * What stands for a record batch that cannot be read, in its place among the messages of a fetch. Nobody takes it for a message
 * by mistake: it has neither key nor value, and reading an event from it says what it is.
 */
/** Why a batch cannot be read. */
export type UnreadableReason =
  /** Its checksum is wrong, it is cut, or its records are not what it says of them. */
  | 'corrupt'
  /** It is compressed with a codec that Kafka did not have when this release was made. */
  | 'unknown_codec'
  /** Its format is newer than what this release knows. */
  | 'unknown_format'
  /** It unpacks to more than is allowed. */
  | 'unpacks_too_large';

export interface UnreadableBatch {
  reason: UnreadableReason;
  /** A sentence that quotes nothing of what the batch holds. */
  detail: string;
  /** The first offset of the batch. */
  from: number;
  /** The last one; `null` where that cannot be told. */
  to: number | null;
  /** By which the batch is known again: of its first bytes, which are the same however much of it was fetched. */
  digest: string;
}

/** The batch that a message stands for; `undefined` for a message that was read. */
export function unreadableBatch(message: object): UnreadableBatch | undefined {
  return 'unreadable' in message ? (message.unreadable as UnreadableBatch) : undefined;
}

/** `12 to 40`, or `from 12 on` where the end cannot be told. */
export function offsetsInWords({ from, to }: Pick<UnreadableBatch, 'from' | 'to'>): string {
  return to === null ? `from ${from} on` : `${from} to ${to}`;
}
