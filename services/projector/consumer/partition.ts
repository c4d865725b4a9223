/**
 * One partition during one assignment: its claim, its position, and the applying of batches to it.
 * A new assignment makes a new object; what still runs for an old one finds itself fenced.
 */
import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import type { ClientSession } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, isUnavailable, isWriteConflict, StoreDataError } from '#shared/errors.ts';
import { offsetsInWords, type UnreadableBatch, unreadableBatch } from '#shared/kafka/unreadable.ts';
import type { Logger } from '#shared/logging.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import type { Turn } from '../generations/pace.ts';
import {
  type Claim,
  isSameIdentity,
  isSameMessage,
  type whereIs,
} from '#shared/projection/slice/checkpoint.ts';
import { Continuity, type Taken } from './continuity.ts';
import { Failing } from './failing.ts';
import { Semaphore } from './semaphore.ts';
import { type Slice, sliceLength, type SliceLimits } from '#shared/projection/slice/slice.ts';
import { withTimeLimit } from '#shared/time-limit.ts';

/**
 * Attempts on a slice before the partition pauses for a second. Who met another writer on the same document finds it gone the
 * next time, so that conflicts are worth many attempts.
 */
const QUICK_ATTEMPTS = { failed: 3, conflict: 20 };
/** Attempts on a single message that fails without a server being away, before it is a dead letter. */
const HOPELESS_ATTEMPTS = 3;
/**
 * Events of the first slice after an assignment; each further one may have twice as many. So something is applied soon, however slow
 * everything is and however often partitions are assigned anew.
 */
const FIRST_SLICE_EVENTS = 20;
/** How long nothing is fetched for any partition because one is not done with its batch: longer ones pause. */
const LONGEST_WAIT_MS = 100;
/**
 * Where nothing waits in the log the next fetch comes so long after the last batch was begun. A transaction costs 8 ms of processor time
 * however small it is: more of them make all of them slow.
 */
const BATCHES_APART_MS = 40;
/** How often a partition that stopped at a batch that cannot be read looks whether an operator had it passed by. */
const SKIP_LOOK_MS = 1_000;
/** How often it reads the batch anew: another broker may have it whole. */
const READ_AGAIN_MS = 30_000;

/** Where a partition's messages come from: its log, and how kafkajs fetches it. */
export interface PartitionSource {
  /** Where the log begins and ends now. */
  bounds: () => Promise<{ start: number; end: number }>;
  /** The last offset to pass by with a batch that cannot be read; `null` unless an operator decided so. */
  skippedTo: (batch: UnreadableBatch) => Promise<number | null>;
  pause: () => void;
  resume: () => void;
  /** Has the next fetch begin at an offset. */
  fetchFrom: (offset: number) => void;
  /** The same, and resumes. */
  resumeAt: (offset: number) => void;
  /** Told after each batch, for whoever watches the group. */
  batchEnded: () => void;
}

/** Where they go: what is projected, and the checkpoint that moves with it. */
export interface PartitionTarget {
  /** Claims the checkpoint; `former` as in `claimCheckpoint`. */
  claim: (former: Claim | null) => Promise<Claim>;
  /** Where the stored checkpoint of a claim is. */
  whereIs: (claim: Claim) => ReturnType<typeof whereIs>;
  /**
   * Writes what a slice means in one transaction, and moves the claim with it. `hopeless` says that its only message failed before
   * for no fault of a server, and shall become a dead letter.
   * @throws {StoreDataError} `fenced` when the partition has another owner.
   */
  commit: (claim: Claim, slice: Slice, hopeless: unknown) => Promise<void>;
  prepare: Prepare;
}

/** When its slices may be applied. */
export interface PartitionTurns {
  /** Whether no further slice shall be applied. */
  isStopping: () => boolean;
  /** Resolves when a slice may be applied. */
  next: (isLost: () => boolean) => Promise<Turn>;
  /** Told how many messages are not applied yet; `null` once the partition is no longer ours. */
  noteLag: (lag: number | null) => void;
}

/** Told which messages come after the slice that is being applied; the function that it returns ends what it does with them. */
export type Prepare = (messages: readonly KafkaMessage[]) => () => void;

export interface PartitionOptions {
  topic: string;
  partition: number;
  limits: SliceLimits;
  /** How long a fenced partition waits before it claims again: long enough for a heartbeat to tell us that we lost it. */
  fencedPauseMs: number;
  logger: Logger;
  metrics: ProjectorMetrics;
  /** What is projected, as metrics name it. */
  generation: string;
  /** What to do when the log is another than the checkpoint was made from. */
  wayOut: string;
  source: PartitionSource;
  target: PartitionTarget;
  turns: PartitionTurns;
}

/** How far a partition gets after its assignment: its checkpoint is ours, its log is known, messages have come, some are applied. */
type Stage = 'claimedMs' | 'loadedMs' | 'fetchedMs' | 'sinceAssignmentMs';

/** A batch of messages that continue what was applied. */
interface TakenBatch extends Taken {
  isRunning: () => boolean;
}

export class Partition {
  readonly #options: PartitionOptions;
  readonly #source: PartitionSource;
  readonly #target: PartitionTarget;
  readonly #turns: PartitionTurns;
  #state: 'loading' | 'ready' | 'stopped' | 'lost' = 'loading';
  #claim: Claim | null = null;
  #sliceEvents: number;
  #hopeless = { offset: -1, attempts: 0 };
  /** What fails at the position, and what keeps it from being claimed. */
  readonly #failing = new Failing();
  readonly #unclaimed = new Failing();
  /** Whether somebody else had the checkpoint when it was last looked at. */
  #isClaimLost = false;
  /** What was taken of the log, and how the next batch is proven to follow it; `null` until the partition is loaded. */
  #continuity: Continuity | null = null;
  /** Where the partition stopped, until something behind it is applied. */
  #unreadable: UnreadableBatch | null = null;
  readonly #assignedAt = performance.now();
  /** After how many milliseconds of the assignment the partition got how far. */
  readonly #reached: Partial<Record<Stage, number>> = {};
  /** The batch that is being applied, while kafkajs fetches the next; `null` when there is none. Never rejects. */
  #underWay: Promise<void> | null = null;
  /** What is done in the claim's session is done one after the other. */
  readonly #session = new Semaphore(1);
  /** The batch after it, for which the partition paused. */
  #waiting: TakenBatch | null = null;

  constructor(options: PartitionOptions) {
    this.#options = options;
    this.#source = options.source;
    this.#target = options.target;
    this.#turns = options.turns;
    this.#sliceEvents = Math.min(FIRST_SLICE_EVENTS, options.limits.events);
    this.#noteProgress();
  }

  get state(): 'loading' | 'ready' | 'stopped' | 'lost' {
    return this.#state;
  }

  /** The offset that is applied next; `null` until the checkpoint is claimed. */
  get position(): number | null {
    return this.#claim?.position ?? null;
  }

  /** Does something in the claim's session between two slices; `null` while the partition is not ours, or not claimed yet. */
  async between<R>(work: (session: ClientSession) => Promise<R>): Promise<R | null> {
    return this.#alone(async () =>
      this.#claim === null || this.#lost() || this.#turns.isStopping() ? null : work(this.#claim.session),
    );
  }

  async #alone<R>(work: () => Promise<R>): Promise<R> {
    const leave = await this.#session.acquire();
    return work().finally(leave);
  }

  /** Called when the partition was assigned anew, to whomever: nothing of this object counts any longer. */
  lose(): void {
    this.#state = 'lost';
    this.#waiting = null;
    this.#options.metrics.stopped.remove(this.#labels());
    this.#clearUnreadable();
    this.#options.metrics.failing.remove(this.#labels());
    this.#turns.noteLag(null);
    const session = this.#claim?.session;
    void this.settled()
      .then(() => this.#alone(async () => session?.endSession()))
      .catch(() => undefined);
  }

  /** Called when it was assigned to us once more: what is under way goes on. @returns `false` where it has to be taken anew. */
  keep(): boolean {
    if (this.#state === 'loading') return this.#claim === null;
    if (this.#state !== 'ready' || this.#continuity === null) return false;
    // kafkajs forgets with each assignment where it stood.
    this.#source.fetchFrom(this.#continuity.from);
    return true;
  }

  /** Whether somebody else claimed the partition since we did; `false` where it cannot be told. */
  async isClaimedByOther(): Promise<boolean> {
    const claim = this.#claim;
    if (claim === null || this.#state !== 'ready') return false;
    const place = await this.#target.whereIs(claim).catch(() => 'here' as const);
    return place === 'not ours' && this.#claim === claim;
  }

  /** Claims the checkpoint and begins to fetch from it; goes on trying, with growing pauses, until it succeeds. */
  async load(former: Claim | null = null): Promise<void> {
    const { logger } = this.#options;
    this.#state = this.#lost() ? 'lost' : 'loading';
    for (let attempt = 0; !this.#lost(); attempt += 1) {
      try {
        this.#claim = await this.#alone(() => this.#target.claim(former));
        this.#noteAnswered();
        this.#reach('claimedMs');
        const bounds = await this.#source.bounds();
        if (this.#lost()) {
          await this.#claim.session.endSession();
          return;
        }
        this.#unclaimed.end();
        const { position, lastMessage } = this.#claim;
        this.#checkHistory(position, bounds);
        this.#continuity = new Continuity(lastMessage, position);
        this.#noteDeleted(this.#continuity, bounds.start);
        this.#state = 'ready';
        this.#reach('loadedMs');
        this.#setLag(bounds.end - position);
        this.#source.resumeAt(this.#continuity.from);
        return;
      } catch (error) {
        if (error instanceof StoreDataError && error.code === 'history_lost') {
          this.#stop(error);
          return;
        }
        const failures = this.#unclaimed.failed(0);
        if (failures !== null) {
          logger.warn({ ...failures, error: describeError(error) }, 'checkpoint cannot be claimed yet');
        }
        if (isFenced(error)) {
          // If the group has given the partition away, a heartbeat says so meanwhile, and this object is lost.
          await sleep(this.#options.fencedPauseMs, undefined, { ref: false });
          former = null;
        } else {
          await sleep(Math.min(100 * 2 ** attempt, 3_000), undefined, { ref: false });
        }
      }
    }
  }

  /**
   * Takes a batch, to be applied slice by slice, in order. While more waits in the log it resolves once that has begun, or soon, so
   * that kafkajs fetches meanwhile: it fetches for all partitions together, and not before each has taken what came last.
   */
  async takeBatch({ batch, isRunning, isStale }: EachBatchPayload): Promise<void> {
    const continuity = this.#continuity;
    if (this.#state !== 'ready' || continuity === null || isStale()) return;
    const hiding = continuity.hidingLast(batch);
    if (hiding !== null) {
      await this.#goOnWithoutProof(continuity, hiding);
      return;
    }
    const verdict = continuity.judge(batch);
    if (verdict.kind === 'replaced') {
      this.#stopReplaced(continuity);
      return;
    }
    if (verdict.kind === 'doubt') {
      await this.#checkLog(continuity, verdict.isMissing);
      return;
    }
    // What is fetched next follows; whoever fails to apply seeks back.
    this.#source.fetchFrom(continuity.from);
    if (verdict.kind === 'look') return;
    this.#reach('fetchedMs');
    const taken = { ...verdict.taken, isRunning };
    // Better than to pause at once: the fetch after a pause may wait long for messages of others.
    await this.#settledOr(LONGEST_WAIT_MS);
    if (this.#continuity !== continuity || this.#state !== 'ready') return;
    if (this.#underWay !== null) {
      this.#source.pause();
      this.#waiting = taken;
      return;
    }
    const began = performance.now();
    this.#startBatch(taken);
    if (taken.next < taken.logEnd) return;
    // What comes meanwhile comes as one batch then.
    await this.#settledOr(LONGEST_WAIT_MS);
    await sleep(Math.max(0, began + BATCHES_APART_MS - performance.now()));
  }

  /**
   * Has the log show the last message again, and asks whether the checkpoint is where we left it: where nothing comes, nothing else
   * would tell that the one or the other was replaced.
   */
  async look(): Promise<void> {
    const [claim, continuity] = [this.#claim, this.#continuity];
    const isIdle = () =>
      this.#state === 'ready' && this.#underWay === null && this.#continuity === continuity;
    if (claim === null || continuity === null || !isIdle()) return;
    const { position } = claim;
    const place = await this.#target.whereIs(claim).catch(() => 'here' as const);
    if (!isIdle() || claim.position !== position) return;
    // Most often another projector has the partition, and the group is about to tell us.
    const isNews = place === 'not ours' && !this.#isClaimLost;
    if (place === 'here') this.#noteProgress();
    this.#isClaimLost = place === 'not ours';
    if (isNews) return;
    if (place !== 'here') {
      this.#options.logger.warn({ position }, 'the checkpoint was moved by somebody else: it is read anew');
      this.#source.pause();
      void this.#reload(0);
    } else if (continuity.isLooking) {
      await this.#checkLog(continuity, false);
    } else {
      continuity.lookAgain();
      this.#source.fetchFrom(continuity.from);
    }
  }

  /** Resolves when nothing is being applied, or after so many milliseconds. */
  async #settledOr(milliseconds: number): Promise<void> {
    const late = () => new Error('it is under way');
    await withTimeLimit(milliseconds, late, () => this.settled()).catch(() => undefined);
  }

  /** Resolves when nothing is being applied. Never rejects. */
  async settled(): Promise<void> {
    await this.#underWay;
  }

  #startBatch(taken: TakenBatch): void {
    this.#underWay = this.#applyBatch(taken);
  }

  /** Applies a batch, as far as it can be, and then turns to the one that waits. */
  async #applyBatch(taken: TakenBatch): Promise<void> {
    try {
      await this.#applySlices(taken);
    } catch (error) {
      this.#noteFailure('error', error, 'batch failed and comes again');
      this.#source.pause();
      void this.#reload(1_000);
    } finally {
      this.#underWay = null;
      this.#source.batchEnded();
      this.#goOn();
    }
  }

  /** Begins the batch that waits, if there is one. */
  #goOn(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting === null || this.#state !== 'ready') return;
    this.#startBatch(waiting);
    this.#source.resume();
  }

  async #applySlices(taken: TakenBatch): Promise<void> {
    const { topic, partition } = this.#options;
    const { messages } = taken;
    let failures = 0;
    const isOver = () => !taken.isRunning() || this.#lost() || this.#turns.isStopping();
    for (let index = this.#indexOfPosition(taken); index < messages.length;) {
      if (index === -1) {
        this.#options.logger.warn(
          { position: this.position },
          'the checkpoint is not at this batch: seeking',
        );
        this.#source.pause();
        void this.#reload(0);
        return;
      }
      const unreadable = unreadableBatch(messages[index] ?? {});
      if (unreadable !== undefined) {
        await this.#passBy(unreadable, messages.slice(index, index + 1), isOver);
        return;
      }
      const turn = await this.#turns.next(isOver);
      if (isOver()) {
        turn.end();
        return;
      }
      const limits = this.#limits(turn.events);
      const length = sliceLength(messages, index, limits);
      const part = messages.slice(index, index + length);
      const isLast = index + length === messages.length;
      const next = isLast ? taken.next : Number(part.at(-1)?.offset) + 1;
      const slice = { topic, partition, messages: part, next };
      const following = index + length;
      const ahead = sliceLength(messages, following, limits);
      const endPreparing = this.#target.prepare(messages.slice(following, following + ahead));
      const outcome = await this.#alone(() => this.#applySlice(slice)).finally(() => {
        endPreparing();
        turn.end();
      });
      if (outcome === 'applied') {
        index += length;
        failures = 0;
        this.#setLag(Math.max(0, taken.logEnd - next));
        continue;
      }
      if (this.#lost()) return;
      failures += 1;
      if (failures >= QUICK_ATTEMPTS[outcome]) {
        this.#source.pause();
        void this.#reload(1_000);
        return;
      }
      await sleep(20 * Math.min(failures, 3));
      if (!(await this.#reclaim())) return;
      index = this.#indexOfPosition(taken);
    }
  }

  /** Goes on behind a batch that cannot be read where an operator decided so; otherwise the partition stops. */
  async #passBy(
    unreadable: UnreadableBatch,
    messages: readonly KafkaMessage[],
    isOver: () => boolean,
  ): Promise<void> {
    const { topic, partition, logger } = this.#options;
    const to = await this.#source.skippedTo(unreadable);
    if (to === null) {
      this.#stopAt(unreadable);
      return;
    }
    const turn = await this.#turns.next(isOver);
    if (isOver()) {
      turn.end();
      return;
    }
    this.#source.pause();
    const passed = messages.map((message) =>
      Object.assign({}, message, { unreadable: { ...unreadable, to } }),
    );
    const outcome = await this.#applySlice({ topic, partition, messages: passed, next: to + 1 }).finally(() =>
      turn.end(),
    );
    if (outcome === 'applied') {
      const { from, reason } = unreadable;
      logger.warn({ from, to, reason }, 'a batch that cannot be read is passed by');
    }
    // Where the checkpoint is now is where the log is read on.
    if (!this.#lost()) void this.#reload(outcome === 'applied' ? 0 : 1_000);
  }

  #limits(events = Infinity): SliceLimits {
    return { ...this.#options.limits, events: Math.min(this.#sliceEvents, events) };
  }

  /** Which message of a batch is applied next; -1 when the checkpoint stands neither before the batch nor at one of its messages. */
  #indexOfPosition({ messages, after }: Taken): number {
    const last = this.#claim?.lastMessage ?? null;
    if (isSameIdentity(last, after)) return 0;
    const at = messages.findIndex(({ offset }) => Number(offset) === last?.offset);
    const found = messages[at];
    return last !== null && found !== undefined && isSameMessage(last, found) ? at + 1 : -1;
  }

  /** Applies one slice. @returns `applied` if it is; if not, the next is half as long: a transaction can be too large. */
  async #applySlice(slice: Slice): Promise<'applied' | keyof typeof QUICK_ATTEMPTS> {
    const { metrics, logger, topic, generation } = this.#options;
    const claim = this.#claim;
    if (claim === null) return 'failed';
    const first = Number(slice.messages[0]?.offset);
    const hopeless =
      slice.messages.length === 1 &&
      this.#hopeless.offset === first &&
      this.#hopeless.attempts >= HOPELESS_ATTEMPTS;
    const end = metrics.transactionSeconds.startTimer({ topic, generation });
    try {
      await this.#target.commit(claim, slice, hopeless ? this.#hopeless : null);
      if (this.#state === 'ready') this.#clearUnreadable();
      if (this.#reach('sinceAssignmentMs')) {
        logger.info({ position: slice.next, ...this.#reached }, 'partition is applied');
      }
      this.#sliceEvents = Math.min(this.#sliceEvents * 2, this.#options.limits.events);
      if (this.#failing.end()) metrics.failing.remove(this.#labels());
      return 'applied';
    } catch (error) {
      if (isFenced(error)) {
        metrics.transactionFailures.inc({ topic, generation, kind: 'fenced' });
        logger.info({ position: claim.position }, 'fenced: another consumer has the partition');
        return 'failed';
      }
      const unavailable = isUnavailable(error);
      metrics.transactionFailures.inc({
        topic,
        generation,
        kind: unavailable ? 'unavailable' : 'unexpected',
      });
      this.#noteFailure(unavailable ? 'warn' : 'error', error, 'transaction failed and is tried again', {
        events: slice.messages.length,
      });
      if (slice.messages.length === 1 && !unavailable) {
        this.#hopeless =
          this.#hopeless.offset === first
            ? { offset: first, attempts: this.#hopeless.attempts + 1 }
            : { offset: first, attempts: 1 };
      }
      this.#sliceEvents = Math.max(1, Math.floor(slice.messages.length / 2));
      return isWriteConflict(error) ? 'conflict' : 'failed';
    } finally {
      end();
    }
  }

  /**
   * Asks where the log begins and ends, and goes on to fetch, or stops.
   * @param isMissing whether the last message was asked for and not shown.
   */
  async #checkLog(continuity: Continuity, isMissing: boolean): Promise<void> {
    this.#source.pause();
    try {
      const bounds = await this.#source.bounds();
      if (this.#continuity !== continuity || this.#state !== 'ready') return;
      this.#checkHistory(continuity.next, bounds);
      if (!this.#noteDeleted(continuity, bounds.start) && isMissing) {
        this.#stopReplaced(continuity);
        return;
      }
      this.#source.resumeAt(continuity.from);
    } catch (error) {
      if (this.#continuity !== continuity) return;
      if (error instanceof StoreDataError && error.code === 'history_lost') this.#stop(error);
      else void this.#reload(1_000);
    }
  }

  /** The last message lies in a batch that can no longer be read: an operator decides about this too. */
  async #goOnWithoutProof(continuity: Continuity, unreadable: UnreadableBatch): Promise<void> {
    this.#source.pause();
    const to = await this.#source.skippedTo(unreadable).catch((error: unknown) => error);
    if (this.#continuity !== continuity || this.#state !== 'ready') return;
    if (to === null) this.#stopAt(unreadable);
    else if (typeof to !== 'number') void this.#reload(1_000);
    else {
      continuity.giveUpProof();
      this.#source.resumeAt(continuity.from);
    }
  }

  /** Says so where the log was cut off between the last message and the next. @returns whether it was. */
  #noteDeleted(continuity: Continuity, logStart: number): boolean {
    if (!continuity.notReachingBack(logStart)) return false;
    this.#options.logger.warn(
      { position: continuity.next, logStart },
      'the last message applied was deleted from the log: nothing can tell whether it is still the same log',
    );
    return true;
  }

  #stopReplaced({ last }: Continuity): void {
    const { topic, partition, wayOut } = this.#options;
    this.#stop(
      new StoreDataError(
        'history_lost',
        `${topic}/${partition}: the message at ${last?.offset} is not the one that was applied: this is another log than the checkpoint was made from; ${wayOut}`,
      ),
    );
  }

  #checkHistory(position: number, { start, end }: { start: number; end: number }): void {
    const { topic, partition, wayOut } = this.#options;
    if (position < start) {
      throw new StoreDataError(
        'history_lost',
        `${topic}/${partition}: the log begins at ${start}, but ${position} is to be applied next: events in between are gone; ${wayOut}`,
      );
    }
    if (position > end) {
      throw new StoreDataError(
        'history_lost',
        `${topic}/${partition}: the log ends at ${end}, but the checkpoint stands at ${position}: this is another log than it was made from; ${wayOut}`,
      );
    }
  }

  /** After an own failure the commit may or may not have happened: the checkpoint knows. */
  async #reclaim(): Promise<boolean> {
    try {
      this.#claim = await this.#alone(() => this.#target.claim(this.#claim));
      this.#noteAnswered();
      return !this.#lost();
    } catch {
      this.#source.pause();
      void this.#reload(500);
      return false;
    }
  }

  async #reload(afterMs: number): Promise<void> {
    if (this.#state === 'stopped') return;
    if (!this.#lost()) this.#state = 'loading';
    this.#continuity = null;
    this.#waiting = null;
    await sleep(afterMs, undefined, { ref: false });
    await this.load(this.#claim);
  }

  /** Notes when the partition got so far for the first time. @returns whether it is the first time. */
  #reach(stage: Stage): boolean {
    if (this.#reached[stage] !== undefined) return false;
    this.#reached[stage] = Math.round(performance.now() - this.#assignedAt);
    return true;
  }

  #stop(error: StoreDataError): void {
    this.#source.pause();
    this.#state = 'stopped';
    this.#waiting = null;
    this.#options.metrics.stopped.set(this.#labels(), 1);
    this.#options.logger.fatal({ error: error.message }, 'partition stopped: going on would lose events');
  }

  /** Stops before a batch that cannot be read, until it is to be passed by or can be read after all. */
  #stopAt(unreadable: UnreadableBatch): void {
    const { topic, partition, metrics, logger } = this.#options;
    const { from, reason, detail } = unreadable;
    this.#clearUnreadable();
    this.#unreadable = unreadable;
    this.#source.pause();
    this.#state = 'stopped';
    this.#waiting = null;
    metrics.stopped.set(this.#labels(), 1);
    metrics.unreadable.set({ ...this.#labels(), reason }, 1);
    this.#turns.noteLag(null);
    logger.fatal(
      { offset: from, reason, error: detail },
      `partition stopped: the record batch of the offsets ${offsetsInWords(unreadable)} cannot be read; "store-data dead-letters skip --topic ${topic} --partition ${partition} --offset ${from}" goes on behind it`,
    );
    void this.#untilSkipped(unreadable);
  }

  async #untilSkipped(unreadable: UnreadableBatch): Promise<void> {
    for (const since = performance.now(); performance.now() - since < READ_AGAIN_MS;) {
      await sleep(SKIP_LOOK_MS, undefined, { ref: false });
      if (this.#state !== 'stopped' || this.#turns.isStopping()) return;
      if ((await this.#source.skippedTo(unreadable).catch(() => null)) !== null) break;
    }
    await this.settled();
    if (this.#state === 'stopped') await this.load(this.#claim);
  }

  #clearUnreadable(): void {
    if (this.#unreadable === null) return;
    const { stopped, unreadable } = this.#options.metrics;
    unreadable.remove({ ...this.#labels(), reason: this.#unreadable.reason });
    stopped.remove(this.#labels());
    this.#unreadable = null;
  }

  /** Says that what is applied next has failed: at once, and then every minute for as long as it does. */
  #noteFailure(level: 'warn' | 'error', error: unknown, message: string, details: object = {}): void {
    const offset = this.position ?? 0;
    const failures = this.#failing.failed(offset);
    if (failures === null) return;
    this.#options.logger[level]({ offset, ...details, ...failures, error: describeError(error) }, message);
  }

  /** Who can claim has a database that answers: if a slice failed before, that was no outage. */
  #noteAnswered(): void {
    const failures = this.#failing.answered();
    if (failures > 0 && !this.#lost()) this.#options.metrics.failing.set(this.#labels(), failures);
  }

  #lost(): boolean {
    return this.#state === 'lost';
  }

  #setLag(lag: number): void {
    // Another's to show.
    if (this.#lost()) return;
    this.#options.metrics.lag.set(this.#labels(), lag);
    this.#turns.noteLag(lag);
    this.#noteProgress();
  }

  /** It was assigned, applied something, or has nothing under way. */
  #noteProgress(): void {
    this.#options.metrics.progress.set(this.#labels(), Date.now() / 1_000);
  }

  #labels(): { topic: string; partition: number; generation: string } {
    const { topic, partition, generation } = this.#options;
    return { topic, partition, generation };
  }
}

function isFenced(error: unknown): boolean {
  return error instanceof StoreDataError && error.code === 'fenced';
}
