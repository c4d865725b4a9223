/** What the loop of a partition touches. Beside these and its clock it only computes. */
import type { LogMessage, UnreadableBatch, UnreadableReason } from '#shared/kafka/message.ts';
import type { PartitionBounds } from '#shared/kafka/positions.ts';
import type { Logger } from '#shared/logging.ts';
import type { Claim, Whereabouts } from '#shared/projection/slice/checkpoint.ts';
import type { Slice, SliceLimits } from '#shared/projection/slice/slice.ts';
import type { Clock } from '#shared/waiting.ts';
import type { Permits } from './scheduler.ts';

/**
 * The partition's log. What is fetched of it comes through `PartitionLoop.take`; a batch that was fetched before the last `seek` must
 * not. No batch comes while it is paused, nor before the promise of the last `take` has resolved.
 */
export interface PartitionLog {
  bounds: () => Promise<PartitionBounds>;
  seek: (offset: number) => void;
  pause: () => void;
  resume: () => void;
}

/**
 * Writes what a slice means in one transaction, and moves the claim with it.
 * @throws {StoreDataError} `fenced` when the checkpoint has another owner, or is not where the claim left it.
 */
export type CommitSlice = (claim: Claim, slice: Slice) => Promise<void>;

/** Told which messages come after those that are being written. */
export type Prepare = (messages: readonly LogMessage[]) => void;

export interface PartitionStore {
  /**
   * Claims the checkpoint; `former` as in `claimCheckpoint`.
   * @throws {StoreDataError} `fenced` when the former claim is no longer the owner's.
   */
  claim: (former: Claim | null) => Promise<Claim>;
  whereIs: (claim: Claim) => Promise<Whereabouts>;
  commit: CommitSlice;
  /** Moves the claim behind a slice of one message, which becomes a dead letter unread. */
  giveUp: CommitSlice;
  /** The last offset to skip of a damaged batch, or of a message that fails; `null` unless an operator decided so. */
  skippedTo: (what: Pick<UnreadableBatch, 'from' | 'digest'>) => Promise<number | null>;
}

export type FailureKind = 'fenced' | 'unavailable' | 'unexpected';

/** Told what becomes of the partition, for metrics and for the group. */
export interface PartitionReport {
  lag: (messages: number) => void;
  /** It applied something, or has nothing to apply. */
  progress: () => void;
  /** Whether it is stopped because going on would lose events, and the damaged batch before which it is. */
  stopped: (isStopped: boolean, reason?: UnreadableReason) => void;
  /** How often in turn the next slice has failed though MongoDB answered. */
  failing: (times: number) => void;
  transaction: (milliseconds: number, failure: FailureKind | null) => void;
  end: () => void;
}

export interface LoopOptions {
  topic: string;
  partition: number;
  limits: SliceLimits;
  /** How long a fenced partition waits before it claims again: long enough for a heartbeat to tell us that we lost it. */
  fencedPauseMs: number;
  recoveryHint: string;
  log: PartitionLog;
  store: PartitionStore;
  permits: Permits;
  report: PartitionReport;
  clock: Clock;
  logger: Logger;
  prepare: Prepare;
}
