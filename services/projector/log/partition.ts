/**
 * One partition during one assignment: its claim, its position, and the batches that are taken for it. A new assignment makes a new
 * object; what still runs for an old one finds itself fenced.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import type { Consumer, EachBatchPayload } from '#shared/kafka/client.ts';
import {
  damagedBatch,
  isDamaged,
  type LogMessage,
  offsetsInWords,
  type UnreadableBatch,
} from '#shared/kafka/message.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import type { PartitionBounds } from '#shared/kafka/positions.ts';
import {
  type Claim,
  identityOf,
  isSameIdentity,
  isSameMessage,
  type Whereabouts,
} from '#shared/projection/slice/checkpoint.ts';
import { type Slice, sliceLength } from '#shared/projection/slice/slice.ts';
import { withTimeLimit } from '#shared/time-limit.ts';
import { Semaphore, type Permit } from './scheduler.ts';
import { checkHistory, Continuity, replacedLog, type Taken } from './continuity.ts';
import {
  FailureTracker,
  isFenced,
  type Outcome,
  SliceWriter,
  type SliceWriterOptions,
} from './slice-writer.ts';

/**
 * Attempts on a slice before the partition pauses for a second. Write conflicts clear quickly: they are retried more often.
 */
const QUICK_ATTEMPTS = { failed: 3, conflict: 20 };
/** How long nothing is fetched for any partition because one is not done with its batch: longer ones pause. */
const MAX_WAIT_MS = 100;
/**
 * Where nothing waits in the log the next fetch comes so long after the last batch was begun. A transaction costs 8 ms of processor time
 * however small it is: more of them make all of them slow.
 */
const BATCHES_APART_MS = 40;
/** How often a partition that stopped looks whether an operator decided how it goes on. */
const SKIP_LOOK_MS = 1_000;
/** How often it reads the batch anew: another broker may have it whole. */
const READ_AGAIN_MS = 30_000;

/** What a partition knows of its log and its checkpoint beside the batches that it is brought. */
export interface PartitionStore {
  /** Where the log begins and ends now. */
  bounds: () => Promise<PartitionBounds>;
  /** The last offset to skip of a damaged batch, or of a message that fails; `null` unless an operator decided so. */
  skippedTo: (what: Pick<UnreadableBatch, 'from' | 'digest'>) => Promise<number | null>;
  /** Claims the checkpoint; `former` as in `claimCheckpoint`. */
  claim: (former: Claim | null) => Promise<Claim>;
  /** Where the stored checkpoint of a claim is. */
  whereIs: (claim: Claim) => Promise<Whereabouts>;
}

/** When its slices may be written, and who is told of it. */
interface PartitionPermits {
  /** Whether no further slice shall be written. */
  isStopping: () => boolean;
  /** Resolves when a slice may be written. */
  next: (isLost: () => boolean) => Promise<Permit>;
  /** Told how many messages are not applied yet; `null` once the partition is no longer ours. */
  noteLag: (lag: number | null) => void;
  /** Told when the position may have moved, for whoever watches the group. */
  moved: () => void;
}

/** Told which messages come after the slice that is being written; the function that it returns ends what it does with them. */
export type Prepare = (messages: readonly LogMessage[]) => () => void;

interface PartitionOptions extends SliceWriterOptions {
  /** How long a fenced partition waits before it claims again: long enough for a heartbeat to tell us that we lost it. */
  fencedPauseMs: number;
  /** What to do when the log is another than the checkpoint was made from. */
  recoveryHint: string;
  consumer: Pick<Consumer, 'pause' | 'resume' | 'seek'>;
  store: PartitionStore;
  permits: PartitionPermits;
  prepare: Prepare;
}

/** How far a partition gets after its assignment: its checkpoint is ours, its log is known, messages have come, some are applied. */
type Stage = 'claimedMs' | 'loadedMs' | 'fetchedMs' | 'sinceAssignmentMs';

/** A batch of messages that continue what was applied. */
interface TakenBatch extends Taken {
  isRunning: () => boolean;
}

export class Partition {
  readonly #options: PartitionOptions;
  readonly #store: PartitionStore;
  readonly #permits: PartitionPermits;
  readonly #writer: SliceWriter;
  #state: 'loading' | 'ready' | 'stopped' | 'lost' = 'loading';
  #claim: Claim | null = null;
  /** What keeps it from being claimed. */
  readonly #unclaimed = new FailureTracker();
  /** Whether somebody else had the checkpoint when it was last looked at. */
  #isClaimLost = false;
  /** What was taken of the log, and how the next batch is proven to follow it; `null` until the partition is loaded. */
  #continuity: Continuity | null = null;
  /** Where the partition stopped, until something behind it is applied. */
  #unreadable: UnreadableBatch | null = null;
  readonly #assignedAt = performance.now();
  /** After how many milliseconds of the assignment the partition got how far. */
  readonly #reached: Partial<Record<Stage, number>> = {};
  /** The batch that is being written, while kafkajs fetches the next; `null` when there is none. Never rejects. */
  #underWay: Promise<void> | null = null;
  /** What is done in the claim's session is done one after the other. */
  readonly #session = new Semaphore(1);
  /** The batch after it, for which the partition paused. */
  #waiting: TakenBatch | null = null;

  constructor(options: PartitionOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#permits = options.permits;
    this.#writer = new SliceWriter(options, async (message) => {
      const { offset, digest } = identityOf(message);
      return (await this.#store.skippedTo({ from: offset, digest })) !== null;
    });
    this.#noteProgress();
  }

  get state(): 'loading' | 'ready' | 'stopped' | 'lost' {
    return this.#state;
  }

  /** Whether nothing is under way, and the next message is all that it waits for. */
  get isIdle(): boolean {
    return this.#state === 'ready' && this.#underWay === null && this.#waiting === null;
  }

  /** The offset that is applied next; `null` until the checkpoint is claimed. */
  get position(): number | null {
    return this.#claim?.position ?? null;
  }

  /** Runs work in the claim's session between two slices; `null` while the partition is not ours, or not claimed yet. */
  async runBetweenSlices<R>(work: (session: ClientSession) => Promise<R>): Promise<R | null> {
    return this.#withSession(async () =>
      this.#claim === null || this.#lost() || this.#permits.isStopping() ? null : work(this.#claim.session),
    );
  }

  /** Where it cannot be told, nothing has changed as far as we know. */
  #whereIs(claim: Claim): Promise<Whereabouts> {
    return this.#store.whereIs(claim).catch(() => 'here' as const);
  }

  async #withSession<R>(work: () => Promise<R>): Promise<R> {
    const leave = await this.#session.acquire();
    return work().finally(leave);
  }

  /** Called when the partition was assigned to another object, here or elsewhere: this one does nothing any longer. */
  revoke(): void {
    this.#state = 'lost';
    this.#waiting = null;
    this.#options.metrics.stopped.remove(this.#labels());
    this.#clearUnreadable();
    this.#options.metrics.failing.remove(this.#labels());
    this.#permits.noteLag(null);
    const session = this.#claim?.session;
    void this.settled()
      .then(() => this.#withSession(async () => session?.endSession()))
      .catch(() => undefined);
  }

  /** Called when it was assigned to us once more: what is under way continues. @returns `false` where it must be claimed anew. */
  retain(): boolean {
    if (this.#state === 'loading') return this.#claim === null;
    if (this.#state !== 'ready' || this.#continuity === null) return false;
    // kafkajs forgets with each assignment where it stood.
    this.#fetchFrom(this.#continuity.from);
    return true;
  }

  /** Whether somebody else claimed the partition since we did; `false` where it cannot be told. */
  async isClaimedByOther(): Promise<boolean> {
    const claim = this.#claim;
    if (claim === null || this.#state !== 'ready') return false;
    const place = await this.#whereIs(claim);
    return place === 'not ours' && this.#claim === claim;
  }

  /** Claims the checkpoint and lets messages be fetched from it; goes on trying, with growing pauses, until it succeeds. */
  async load(former: Claim | null = null): Promise<void> {
    const { logger } = this.#options;
    this.#state = this.#lost() ? 'lost' : 'loading';
    for (let attempt = 0; !this.#lost(); attempt += 1) {
      try {
        const { session, position, lastMessage } = await this.#claimAgain(former);
        this.#reach('claimedMs');
        const bounds = await this.#store.bounds();
        if (this.#lost()) return await session.endSession();
        this.#unclaimed.end();
        checkHistory(this.#options, position, bounds);
        this.#continuity = new Continuity(lastMessage, position);
        this.#noteDeleted(this.#continuity, bounds.start);
        this.#state = 'ready';
        if (this.#unreadable === null) this.#options.metrics.stopped.remove(this.#labels());
        this.#reach('loadedMs');
        this.#setLag(bounds.end - position);
        this.#resumeAt(this.#continuity.from);
        return;
      } catch (error) {
        // Another object speaks for the partition then.
        if (this.#lost()) return;
        if (isHistoryLost(error)) return this.#stop(error);
        // What cannot go on is no reason for others to wait.
        this.#permits.noteLag(null);
        const failures = this.#unclaimed.failed(0);
        if (failures !== null) {
          logger.warn({ ...failures, error: describeError(error) }, 'checkpoint cannot be claimed yet');
        }
        // If the group has given the partition away, a heartbeat says so meanwhile, and this object is lost.
        const pauseMs = isFenced(error) ? this.#options.fencedPauseMs : Math.min(100 * 2 ** attempt, 3_000);
        if (isFenced(error)) former = null;
        await sleep(pauseMs, undefined, { ref: false });
      }
    }
  }

  async #claimAgain(former: Claim | null): Promise<Claim> {
    const claim = await this.#withSession(() => this.#store.claim(former));
    this.#claim = claim;
    if (!this.#lost()) this.#writer.noteAnswered();
    return claim;
  }

  /**
   * Takes a batch, to be written slice by slice, in order. While more waits in the log it resolves once that was started, or soon, so
   * that kafkajs fetches meanwhile: it fetches for all partitions together, and not before each has taken what came last.
   */
  async takeBatch({ batch, isRunning, isStale }: EachBatchPayload): Promise<void> {
    const continuity = this.#continuity;
    if (this.#state !== 'ready' || continuity === null || isStale()) return;
    const hiding = continuity.hidingLast(batch);
    if (hiding !== null) return this.#goOnWithoutProof(continuity, hiding);
    const verdict = continuity.judge(batch);
    if (verdict.kind === 'replaced') return this.#stopReplaced(continuity);
    if (verdict.kind === 'doubt') return this.#askBounds(continuity, verdict.isMissing);
    // What is fetched next follows; whoever fails to write seeks back.
    this.#fetchFrom(continuity.from);
    if (verdict.kind === 'look') return;
    this.#reach('fetchedMs');
    const taken = { ...verdict.taken, isRunning };
    // Better than to pause at once: the fetch after a pause may wait long for messages of others.
    await this.#settledOr(MAX_WAIT_MS);
    if (!this.#isAt(continuity)) return;
    if (this.#underWay !== null) {
      this.#pause();
      this.#waiting = taken;
      return;
    }
    const began = performance.now();
    this.#underWay = this.#runBatch(taken);
    if (taken.next < taken.logEnd) return;
    // What comes meanwhile comes as one batch then.
    await this.#settledOr(MAX_WAIT_MS);
    await sleep(Math.max(0, began + BATCHES_APART_MS - performance.now()));
  }

  /**
   * Has the log show the last message again, and asks whether the checkpoint is where we left it: where nothing comes, nothing else
   * would tell that the one or the other was replaced.
   */
  async checkLog(): Promise<void> {
    const [claim, continuity] = [this.#claim, this.#continuity];
    if (claim === null || continuity === null) return;
    const isStillIdle = () => this.#isAt(continuity) && this.isIdle;
    if (!isStillIdle()) return;
    const { position } = claim;
    const place = await this.#whereIs(claim);
    if (!isStillIdle() || claim.position !== position) return;
    // Most often another projector has the partition, and the group is about to tell us.
    const isNews = place === 'not ours' && !this.#isClaimLost;
    if (place === 'here') this.#noteProgress();
    this.#isClaimLost = place === 'not ours';
    if (isNews) return;
    if (place !== 'here') {
      this.#options.logger.warn({ position }, 'the checkpoint was moved by somebody else: it is read anew');
      this.#reload(0);
    } else if (continuity.isLooking) {
      await this.#askBounds(continuity, false);
    } else {
      continuity.lookAgain();
      this.#fetchFrom(continuity.from);
    }
  }

  /** Resolves when nothing is being written, or after so many milliseconds. */
  async #settledOr(milliseconds: number): Promise<void> {
    const late = () => new Error('it is under way');
    await withTimeLimit(milliseconds, late, () => this.settled()).catch(() => undefined);
  }

  /** Resolves when nothing is being written. Never rejects. */
  async settled(): Promise<void> {
    await this.#underWay;
  }

  /** Writes a batch, as far as it can be, and then turns to the one that waits. */
  async #runBatch(taken: TakenBatch): Promise<void> {
    try {
      await this.#writeSlices(taken);
    } catch (error) {
      this.#writer.noteFailure(this.position ?? 0, 'error', error, 'batch failed and comes again');
      this.#reload(1_000);
    } finally {
      this.#underWay = null;
      this.#permits.moved();
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting !== null && this.#state === 'ready') {
        this.#underWay = this.#runBatch(waiting);
        this.#resume();
      }
    }
  }

  async #writeSlices(taken: TakenBatch): Promise<void> {
    const { topic, partition, prepare, logger } = this.#options;
    const { messages } = taken;
    let failures = 0;
    const isOver = () => !taken.isRunning() || this.#lost() || this.#permits.isStopping();
    for (let index = this.#indexOfPosition(taken); (this.position ?? 0) < taken.next;) {
      if (index === -1) {
        logger.warn({ position: this.position }, 'the checkpoint is not at this batch: seeking');
        return this.#reload(0);
      }
      const damaged = damagedBatch(messages[index] ?? {});
      if (damaged !== undefined) {
        return this.#passBy(damaged, messages.slice(index, index + 1), isOver);
      }
      const permit = await this.#permits.next(isOver);
      if (isOver()) return permit.end();
      const limits = this.#writer.limits(permit.events);
      const following = index + sliceLength(messages, index, limits);
      const part = messages.slice(index, following);
      const next = following === messages.length ? taken.next : Number(part.at(-1)?.offset) + 1;
      const ahead = sliceLength(messages, following, limits);
      const endPreparing = prepare(messages.slice(following, following + ahead));
      const slice = { topic, partition, messages: part, next };
      const outcome = await this.#withSession(() => this.#writeSlice(slice)).finally(() => {
        endPreparing();
        permit.end();
      });
      if (outcome === 'written') {
        index = following;
        failures = 0;
        this.#setLag(Math.max(0, taken.logEnd - next));
        continue;
      }
      if (this.#lost()) return;
      failures += 1;
      if (failures >= QUICK_ATTEMPTS[outcome]) return this.#reload(1_000);
      await sleep(20 * Math.min(failures, 3));
      // After an own failure the commit may or may not have happened: the checkpoint knows.
      const isClaimed = await this.#claimAgain(this.#claim).then(
        () => true,
        () => false,
      );
      if (!isClaimed) return this.#reload(500);
      if (this.#lost()) return;
      index = this.#indexOfPosition(taken);
    }
  }

  async #writeSlice(slice: Slice): Promise<Outcome> {
    if (this.#claim === null) return 'failed';
    const outcome = await this.#writer.write(this.#claim, slice);
    if (outcome !== 'written') return outcome;
    if (this.#state === 'ready') this.#clearUnreadable();
    if (this.#reach('sinceAssignmentMs')) {
      this.#options.logger.info({ position: slice.next, ...this.#reached }, 'partition is applied');
    }
    return outcome;
  }

  /** Goes on behind a damaged batch where an operator decided so; otherwise the partition stops. */
  async #passBy(
    unreadable: UnreadableBatch,
    messages: readonly LogMessage[],
    isOver: () => boolean,
  ): Promise<void> {
    const { topic, partition, logger } = this.#options;
    const to = await this.#store.skippedTo(unreadable);
    if (this.#lost()) return;
    if (to === null) return this.#stopAt(unreadable);
    const permit = await this.#permits.next(isOver);
    if (isOver()) return permit.end();
    this.#pause();
    const passed = messages.map((message) =>
      Object.assign({}, message, { unreadable: { ...unreadable, to } }),
    );
    const slice = { topic, partition, messages: passed, next: to + 1 };
    const outcome = await this.#withSession(() => this.#writeSlice(slice)).finally(() => permit.end());
    if (outcome === 'written') {
      const { from, reason } = unreadable;
      logger.warn({ from, to, reason }, 'a damaged batch is passed by');
    }
    // Where the checkpoint is now is where the log is read on.
    if (!this.#lost()) this.#reload(outcome === 'written' ? 0 : 1_000);
  }

  /** Which message of a batch is written next; -1 when the checkpoint stands neither before the batch nor at one of its messages. */
  #indexOfPosition({ messages, after }: Taken): number {
    const last = this.#claim?.lastMessage ?? null;
    if (isSameIdentity(last, after)) return 0;
    const at = messages.findIndex(({ offset }) => Number(offset) === last?.offset);
    const found = messages[at];
    return last !== null && found !== undefined && isSameMessage(last, found) ? at + 1 : -1;
  }

  /**
   * Asks where the log begins and ends, and goes on to fetch, or stops.
   * @param isMissing whether the last message was asked for and not shown.
   */
  async #askBounds(continuity: Continuity, isMissing: boolean): Promise<void> {
    this.#pause();
    try {
      const bounds = await this.#store.bounds();
      if (!this.#isAt(continuity)) return;
      checkHistory(this.#options, continuity.next, bounds);
      if (!this.#noteDeleted(continuity, bounds.start) && isMissing) return this.#stopReplaced(continuity);
      this.#resumeAt(continuity.from);
    } catch (error) {
      if (this.#continuity !== continuity) return;
      if (isHistoryLost(error)) this.#stop(error);
      else this.#reload(1_000);
    }
  }

  /** The last message lies in a batch that can no longer be read: if that is damaged, an operator decides about this too. */
  async #goOnWithoutProof(continuity: Continuity, unreadable: UnreadableBatch): Promise<void> {
    this.#pause();
    const to = isDamaged(unreadable)
      ? await this.#store.skippedTo(unreadable).catch((error: unknown) => error)
      : unreadable.to;
    if (!this.#isAt(continuity)) return;
    if (to === null) this.#stopAt(unreadable);
    else if (typeof to !== 'number') this.#reload(1_000);
    else {
      continuity.giveUpProof();
      this.#resumeAt(continuity.from);
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

  /** Reads the checkpoint anew after a while, and goes on from there. */
  #reload(afterMs: number): void {
    this.#pause();
    if (this.#state === 'stopped') return;
    if (!this.#lost()) this.#state = 'loading';
    this.#continuity = null;
    this.#waiting = null;
    void sleep(afterMs, undefined, { ref: false }).then(() => this.load(this.#claim));
  }

  /** Notes when the partition got so far for the first time. @returns whether it is the first time. */
  #reach(stage: Stage): boolean {
    if (this.#reached[stage] !== undefined) return false;
    this.#reached[stage] = Math.round(performance.now() - this.#assignedAt);
    return true;
  }

  #stopReplaced({ last }: Continuity): void {
    this.#stop(replacedLog(this.#options, last?.offset));
  }

  #stop(error: StoreDataError): void {
    this.#halt();
    this.#options.logger.fatal({ error: error.message }, 'partition stopped: going on would lose events');
    void this.#untilReplayed();
  }

  /** Begins anew where an operator has the log applied from its beginning: its checkpoint is gone then. */
  async #untilReplayed(): Promise<void> {
    const claim = this.#claim;
    if (claim === null) return;
    while (this.#state === 'stopped' && !this.#permits.isStopping()) {
      await sleep(SKIP_LOOK_MS, undefined, { ref: false });
      const place = await this.#whereIs(claim);
      if (place !== 'gone' || this.#state !== 'stopped') continue;
      this.#options.logger.warn({}, 'the checkpoint was removed: the log is applied from its beginning');
      await this.settled();
      await claim.session.endSession();
      return this.load();
    }
  }

  #halt(): void {
    this.#pause();
    this.#state = 'stopped';
    this.#waiting = null;
    this.#permits.noteLag(null);
    this.#options.metrics.stopped.set(this.#labels(), 1);
  }

  /** Stops before a damaged batch, until it is to be passed by or can be read after all. */
  #stopAt(unreadable: UnreadableBatch): void {
    const { topic, partition, metrics, logger } = this.#options;
    const { from, reason, detail } = unreadable;
    this.#clearUnreadable();
    this.#unreadable = unreadable;
    this.#halt();
    metrics.unreadable.set({ ...this.#labels(), reason }, 1);
    logger.fatal(
      { offset: from, reason, error: detail },
      `partition stopped: the record batch of the offsets ${offsetsInWords(unreadable)} cannot be read; "store-data dead-letters skip --topic ${topic} --partition ${partition} --offset ${from}" goes on behind it`,
    );
    void this.#untilSkipped(unreadable);
  }

  async #untilSkipped(unreadable: UnreadableBatch): Promise<void> {
    for (const since = performance.now(); performance.now() - since < READ_AGAIN_MS;) {
      await sleep(SKIP_LOOK_MS, undefined, { ref: false });
      if (this.#state !== 'stopped' || this.#permits.isStopping()) return;
      if ((await this.#store.skippedTo(unreadable).catch(() => null)) !== null) break;
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

  /** Whether what was found out about the log still counts. */
  #isAt(continuity: Continuity): boolean {
    return this.#state === 'ready' && this.#continuity === continuity;
  }

  #lost(): boolean {
    return this.#state === 'lost';
  }

  // Revoked: the new Partition object controls the consumer.
  #pause(): void {
    if (!this.#lost()) this.#options.consumer.pause([this.#selection()]);
  }

  #resume(): void {
    if (!this.#lost()) this.#options.consumer.resume([this.#selection()]);
  }

  /** Has the next fetch begin at an offset. */
  #fetchFrom(offset: number): void {
    const { topic, partition, consumer } = this.#options;
    if (!this.#lost()) consumer.seek({ topic, partition, offset: String(offset) });
  }

  #resumeAt(offset: number): void {
    this.#fetchFrom(offset);
    this.#resume();
    this.#permits.moved();
  }

  #selection() {
    const { topic, partition } = this.#options;
    return { topic, partitions: [partition] };
  }

  #setLag(lag: number): void {
    // Another's to show.
    if (this.#lost()) return;
    this.#options.metrics.lag.set(this.#labels(), lag);
    this.#permits.noteLag(lag);
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

function isHistoryLost(error: unknown): error is StoreDataError {
  return error instanceof StoreDataError && error.code === 'history_lost';
}
