/**
 * The edges of a partition's loop: all that it touches but its clock. The simulation implements
 * them too.
 */
import type { FullBounds } from '#shared/kafka/cluster.ts';
import type { Answer, Wanted } from '#shared/kafka/fetcher.ts';
import type { LogMessage, UnreadableBatch, UnreadableReason } from '#shared/kafka/message.ts';
import type { PartitionBounds } from '#shared/kafka/positions.ts';
import type { Logger } from '#shared/logging.ts';
import type { Claim, Slice, SliceLimits } from '#shared/projection/slice/checkpoint.ts';
import type { Clock } from '#shared/waiting.ts';
import type { Permits } from './scheduler.ts';

/** The partition's log. */
export interface PartitionLog {
  bounds: () => Promise<PartitionBounds>;
  /**
   * Resolves when the log has something from an offset on; with `null` once the signal is aborted.
   */
  read: (wanted: Wanted, signal: AbortSignal) => Promise<Answer | null>;
}

/**
 * Applies a slice in one transaction, and moves the claim with it.
 * @throws {StoreDataError} `fenced` when the checkpoint has another owner, or is not where the claim left it.
 */
export type CommitSlice = (claim: Claim, slice: Slice) => Promise<void>;

/** Called with the messages that follow the slice that is being written. */
export type Prepare = (messages: readonly LogMessage[]) => void;

export interface PartitionStore {
  /**
   * Claims the checkpoint; `former` as in `claimCheckpoint`.
   * @throws {StoreDataError} `fenced` when the previous claim is no longer the owner's.
   */
  claim: (former: Claim | null) => Promise<Claim>;
  /** Whether the checkpoint is the claim's, and where that left it. */
  isHere: (claim: Claim) => Promise<boolean>;
  commit: CommitSlice;
  /**
   * Moves the claim behind a slice of one message, which becomes a dead letter without being read.
   */
  giveUp: CommitSlice;
  /**
   * Whether a message that fails again and again becomes a dead letter. An event of access waits
   * instead, and its partition with it.
   */
  givesUp: boolean;
  /**
   * The last offset of a damaged batch or failing message that an operator decided to skip; `null`
   * without a decision.
   */
  skippedTo: (what: Pick<UnreadableBatch, 'from' | 'digest'>) => Promise<number | null>;
}

export type FailureKind = 'fenced' | 'unavailable' | 'unexpected';

/** The state of the partition, for metrics and for the group. */
export interface PartitionReport {
  lag: (messages: number) => void;
  /** What the log shows and hides, also while nothing is read. */
  bounds: (bounds: FullBounds) => void;
  /** It applied something, or has nothing to apply. */
  progress: () => void;
  /**
   * Whether it is stopped because it would lose events; and the reason, if it is stopped before
   * a damaged batch.
   */
  stopped: (isStopped: boolean, reason?: UnreadableReason) => void;
  /** How often in a row the next slice has failed although MongoDB answered. */
  failing: (times: number) => void;
  transaction: (milliseconds: number, failure: FailureKind | null) => void;
  end: () => void;
}

export interface LoopOptions {
  topic: string;
  partition: number;
  limits: SliceLimits;
  /** Bytes of one read. */
  readBytes: number;
  /**
   * Resolves when the group has confirmed that the partition is ours, or once the signal is
   * aborted.
   */
  confirmed: (signal: AbortSignal) => Promise<void>;
  recoveryHint: string;
  log: PartitionLog;
  store: PartitionStore;
  permits: Permits;
  report: PartitionReport;
  clock: Clock;
  /** From 0 to below 1. */
  random: () => number;
  logger: Logger;
  prepare: Prepare;
}
