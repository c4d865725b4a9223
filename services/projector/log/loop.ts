/**
 * One partition, from when it is assigned to us until it is taken away; its next owner's claim fences
 * it. It is in one state at a time:
 *
 * | state     | what it does                                      | what ends it                                              |
 * | --------- | ------------------------------------------------- | --------------------------------------------------------- |
 * | claiming  | claims the checkpoint                             | claimed: checking                                         |
 * | checking  | checks that the log reaches the checkpoint        | it does: following                                        |
 * | following | waits for messages that continue the applied log  | they came: writing                                        |
 * | writing   | writes the next slice                             | all written: following; failed several times: resting     |
 * | deciding  | pauses before a damaged batch                     | time: claiming, until it is whole, or an operator skips it |
 * | replaying | pauses, since continuing would lose events        | time: claiming, until an operator removes the checkpoint  |
 * | fenced    | waits, since the claim is no longer the owner's   | the group confirmed that the partition is ours: checking  |
 * | resting   | pauses after any other failure                    | time: claiming                                            |
 * | stopped   | nothing                                           | nothing                                                   |
 *
 * An error leads from each state to fenced, to replaying (the log is another one, or begins too
 * late) or to resting. Whatever is claimed again is checked again: so one way leads out of every
 * pause.
 */
import { describeError, StoreDataError } from '#shared/errors.ts';
import {
  damagedBatch,
  isDamaged,
  type LogMessage,
  offsetsInWords,
  type UnreadableBatch,
  type UnreadableReason,
} from '#shared/kafka/message.ts';
import type { FullBounds } from '#shared/kafka/cluster.ts';
import { FailureTracker } from '#shared/logging.ts';
import {
  type Claim,
  isSameIdentity,
  isSameMessage,
  sliceLength,
  type SliceLimits,
} from '#shared/projection/slice/checkpoint.ts';
import { Semaphore } from '#shared/waiting.ts';
import { checkHistory, Continuity, replacedLog, type Taken } from './continuity.ts';
import type { LoopOptions } from './edges.ts';
import { Feed } from './feed.ts';
import { type Failed, isFenced, SliceWriter } from './slice-writer.ts';

/**
 * Attempts on a slice before the log is read again. Write conflicts clear quickly: they are retried
 * more often.
 */
const QUICK_ATTEMPTS = { failed: 3, conflict: 20, suspect: 1 };
/** The pause before a slice is tried again: longer each time, up to three times as long. */
const RETRY_MS = 20;
/** The pause before the log is read again: twice as long each time. */
const REST_MS = 1_000;
const MAX_REST_MS = 3_000;
const MAX_CLAIM_PAUSE_MS = 3_000;
/** How long the log may be quiet before the log and the checkpoint are checked. */
const QUIET_MS = 10_000;
/** The pause of a stopped partition: then its checkpoint, its log and decisions are read again. */
const STOPPED_MS = 3_000;

type Writing = { name: 'writing'; feed: Feed; taken: Taken; attempts: number };
type State =
  | { name: 'claiming' | 'checking' | 'fenced' | 'stopped' }
  | { name: 'following'; feed: Feed }
  | Writing
  | { name: 'deciding' | 'replaying' | 'resting'; ms: number };

const CLAIMING: State = { name: 'claiming' };

export class PartitionLoop {
  readonly #options: LoopOptions;
  readonly #writer: SliceWriter;
  readonly #over = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** One piece of work at a time uses the claim's session. */
  readonly #session = new Semaphore(1);
  #state: State = CLAIMING;
  /** The last claim, which the next one names. */
  #claim: Claim | null = null;
  readonly #unclaimed = new FailureTracker();
  /** Stops in a row before something was applied. */
  readonly #stops = new FailureTracker();
  /** Failures in a row before the log was followed. */
  #failures = 0;
  /** Pauses in a row after which a slice failed again. */
  #rests = 0;
  /** `null` once something is applied. */
  #assignedAt: number | null;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#writer = new SliceWriter(options);
    this.#assignedAt = options.clock.now();
    options.report.progress();
  }

  /** The offset that is applied next; `null` until the checkpoint is claimed. */
  get position(): number | null {
    return this.#claim?.position ?? null;
  }

  /** Lets `run` end after the current transaction: the partition is another's, or nobody's. */
  revoke(): void {
    this.#over.abort();
    if ('feed' in this.#state) this.#state.feed.close();
    this.#state = { name: 'stopped' };
    this.#options.permits.noteLag(null);
    this.#options.report.end();
  }

  /**
   * Runs work in the claim's session between two slices; `null` if the partition is not ours, or
   * not claimed yet.
   */
  runBetweenSlices<R>(work: (claim: Claim) => Promise<R>): Promise<R | null> {
    return this.#withSession(async () =>
      this.#claim === null || this.#isOver ? null : work(this.#claim),
    );
  }

  /** Shows the lag by the bounds of the log, also while nothing is read. */
  noteBounds(bounds: FullBounds): void {
    const { report } = this.#options;
    report.bounds(bounds);
    if (this.position !== null) report.lag(Math.max(0, bounds.end - this.position));
  }

  /** Resolves when its work has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Runs until the loop is stopped. Called once; never rejects. */
  async run(): Promise<void> {
    while (!this.#isOver) {
      const state = this.#state;
      const next = await this.#step(state).catch((error: unknown) =>
        this.#afterError(state, error),
      );
      if ('feed' in state && !('feed' in next)) state.feed.close();
      if (!this.#isOver) this.#state = next;
      else if ('feed' in next) next.feed.close();
    }
    await this.#withSession(async () => this.#claim?.session.endSession()).catch(() => undefined);
    this.#ended.resolve();
  }

  /** @returns the next state. */
  async #step(state: State): Promise<State> {
    switch (state.name) {
      case 'claiming':
        await this.#claimCheckpoint(this.#claim);
        return { name: 'checking' };
      case 'checking':
        return this.#check();
      case 'following':
        return this.#follow(state.feed);
      case 'writing':
        return this.#write(state);
      case 'fenced':
        await this.#options.confirmed(this.#over.signal);
        if (!this.#isOver) await this.#claimCheckpoint(null);
        this.#noteContinues();
        return { name: 'checking' };
      case 'deciding':
      case 'replaying':
      case 'resting':
        await this.#sleep(state.ms);
        return CLAIMING;
      case 'stopped':
    }
    return state;
  }

  #afterError({ name }: State, error: unknown): State {
    // Others do not wait for a stopped partition's backlog.
    this.#options.permits.noteLag(null);
    if (error instanceof StoreDataError && error.code === 'history_lost')
      return this.#pauseStopped(
        'replaying',
        { error: error.message },
        'continuing would lose events',
      );
    const failures = this.#unclaimed.failed(this.#options.clock.now());
    if (failures !== null && !this.#isOver) {
      const words =
        name === 'following'
          ? 'log cannot be followed yet'
          : 'checkpoint not claimed or log bounds not read yet';
      this.#options.logger.warn({ ...failures, error: describeError(error) }, words);
    }
    if (isFenced(error)) return { name: 'fenced' };
    this.#failures += 1;
    return { name: 'resting', ms: Math.min(50 * 2 ** this.#failures, MAX_CLAIM_PAUSE_MS) };
  }

  /** @param former the claim that must still be the owner's; `null` to claim it from any. */
  async #claimCheckpoint(former: Claim | null): Promise<void> {
    await this.#withSession(async () => {
      const before = this.#claim;
      this.#claim = await this.#options.store.claim(former);
      // A claim with a former one ends that one's session itself.
      if (former === null) void before?.session.endSession().catch(() => undefined);
    });
    this.#writer.noteAnswered();
  }

  async #check(): Promise<State> {
    if (this.#claim === null) return CLAIMING;
    const { log, clock, readBytes } = this.#options;
    const { position, lastMessage } = this.#claim;
    const continuity = new Continuity(lastMessage, position, readBytes);
    const end = await this.#checkBounds(continuity);
    this.#unclaimed.end();
    this.#failures = 0;
    this.#noteLag(end - position);
    const prepare = (messages: readonly LogMessage[]) =>
      this.#prepare(messages, 0, this.#writer.limits(Infinity));
    return { name: 'following', feed: new Feed(log, continuity, clock, prepare) };
  }

  async #follow(feed: Feed): Promise<State> {
    const following: State = { name: 'following', feed };
    const found = await feed.next(QUIET_MS);
    if (this.#isOver) return following;
    switch (found?.kind) {
      case undefined:
        return (await this.#checkQuietLog(feed)) ? following : CLAIMING;
      case 'take':
        return { name: 'writing', feed, taken: found.taken, attempts: 0 };
      case 'doubt':
        await this.#checkBounds(feed.continuity);
        return following;
      case 'hidden':
        return this.#continueWithoutProof(feed, found.batch);
      case 'replaced':
    }
    throw replacedLog(this.#options, feed.continuity.last?.offset);
  }

  /** Writes the next slice. @returns the same state while there are more. */
  async #write(writing: Writing): Promise<State> {
    const { feed, taken, attempts } = writing;
    if ((this.position ?? 0) >= taken.next) return { name: 'following', feed };
    const index = this.#indexOfPosition(taken);
    if (index === -1) {
      this.#options.logger.warn(
        { position: this.position },
        'the checkpoint is not at this batch: it is read again',
      );
      return CLAIMING;
    }
    const damaged = damagedBatch(taken.messages[index] ?? {});
    if (damaged !== undefined) return this.#skip(taken, index, damaged);
    const outcome = await this.#writeNext(taken, index);
    if (outcome === 'written') return { ...writing, attempts: 0 };
    const failures = attempts + 1;
    if (failures >= QUICK_ATTEMPTS[outcome]) return this.#rest();
    await this.#sleep(RETRY_MS * Math.min(failures, 3));
    // The failed commit may have happened: the checkpoint says so.
    if (!this.#isOver) await this.#claimCheckpoint(this.#claim);
    return { ...writing, attempts: failures };
  }

  /** Writes one slice of a batch, and prepares the messages behind it meanwhile. */
  async #writeNext({ messages, next, logEnd }: Taken, index: number): Promise<'written' | Failed> {
    const permit = await this.#options.permits.next(this.#over.signal);
    try {
      if (this.#isOver) return 'failed';
      const limits = this.#writer.limits(permit.events);
      const end = index + sliceLength(messages, index, limits);
      this.#prepare(messages, end, limits);
      const part = messages.slice(index, end);
      const following = end === messages.length ? next : Number(part.at(-1)?.offset) + 1;
      const { topic, partition } = this.#options;
      const slice = { topic, partition, messages: part, next: following };
      const outcome = await this.#withSession(async () =>
        this.#claim === null ? 'failed' : this.#writer.write(this.#claim, slice),
      );
      if (outcome === 'written') this.#noteApplied(following, logEnd);
      return outcome;
    } finally {
      permit.end();
    }
  }

  /**
   * With jitter: partitions that failed together would otherwise load a recovering server together.
   */
  #rest(): State {
    const ms = Math.min(REST_MS * 2 ** this.#rests, MAX_REST_MS);
    this.#rests += 1;
    return { name: 'resting', ms: ms * (1 - this.#options.random() / 2) };
  }

  #prepare(messages: readonly LogMessage[], start: number, limits: SliceLimits): void {
    this.#options.prepare(messages.slice(start, start + sliceLength(messages, start, limits)));
  }

  #noteApplied(position: number, logEnd: number): void {
    const { clock, logger } = this.#options;
    this.#noteContinues();
    if (this.#assignedAt !== null) {
      logger.info(
        { position, sinceAssignmentMs: Math.round(clock.now() - this.#assignedAt) },
        'partition is applied',
      );
    }
    this.#assignedAt = null;
    this.#rests = 0;
    this.#noteLag(Math.max(0, logEnd - position));
  }

  /**
   * Moves the checkpoint behind a damaged batch if an operator decided so. The log is read again
   * from there.
   */
  async #skip(taken: Taken, index: number, damaged: UnreadableBatch): Promise<State> {
    const to = await this.#options.store.skippedTo(damaged);
    if (to === null) return this.#stopBefore(damaged);
    const skipped = Object.assign({}, taken.messages[index], { unreadable: { ...damaged, to } });
    const written = await this.#writeNext({ ...taken, messages: [skipped], next: to + 1 }, 0);
    if (written !== 'written') return this.#rest();
    const { from, reason } = damaged;
    this.#options.logger.warn({ from, to, reason }, 'a damaged batch is skipped');
    return CLAIMING;
  }

  /**
   * The index of the message that is written next; -1 if the checkpoint is neither before the batch
   * nor in it.
   */
  #indexOfPosition({ messages, after }: Taken): number {
    const last = this.#claim?.lastMessage ?? null;
    if (isSameIdentity(last, after)) return 0;
    const at = messages.findIndex(({ offset }) => Number(offset) === last?.offset);
    const found = messages[at];
    return last !== null && found !== undefined && isSameMessage(last, found) ? at + 1 : -1;
  }

  /**
   * Nothing came for a while. Checks that the checkpoint has not moved, and lets the log show the
   * last message again: otherwise a replaced log or database would go unnoticed. @returns whether
   * the log is followed on.
   */
  async #checkQuietLog(feed: Feed): Promise<boolean> {
    const claim = this.#claim;
    if (claim === null) return false;
    // An absent MongoDB says nothing.
    const isHere = await this.#options.store.isHere(claim).catch(() => true);
    if (isHere) this.#options.report.progress();
    if (this.#isOver || !feed.isEmpty) return true;
    if (!isHere) {
      const { position } = claim;
      this.#options.logger.warn(
        { position },
        'the checkpoint was moved by another process: it is read again',
      );
      return false;
    }
    feed.close();
    if (feed.continuity.canProve) feed.continuity.prove();
    else await this.#checkBounds(feed.continuity);
    return true;
  }

  /** @returns where the log ends. @throws `history_lost` */
  async #checkBounds(continuity: Continuity): Promise<number> {
    const { start, end } = await this.#options.log.bounds();
    checkHistory(this.#options, continuity.next, { start, end });
    if (continuity.noteBounds({ start, end })) {
      this.#options.logger.warn(
        { position: continuity.next, logStart: start },
        'the last applied message was deleted from the log: nothing proves any longer that this is the same log',
      );
    }
    return end;
  }

  /**
   * The last message lies in a batch that can no longer be read. If that is damaged, an operator
   * decides.
   */
  async #continueWithoutProof(feed: Feed, batch: UnreadableBatch): Promise<State> {
    const to = isDamaged(batch) ? await this.#options.store.skippedTo(batch) : batch.to;
    if (to === null) return this.#stopBefore(batch);
    feed.continuity.giveUpProof();
    return { name: 'following', feed };
  }

  #stopBefore(batch: UnreadableBatch): State {
    const { topic, partition } = this.#options;
    const { from, reason, detail } = batch;
    const words =
      `the record batch of the offsets ${offsetsInWords(batch)} cannot be read; ` +
      `"store-data dead-letters skip --topic ${topic} --partition ${partition} --offset ${from}" continues behind it`;
    return this.#pauseStopped('deciding', { offset: from, reason, error: detail }, words, reason);
  }

  /** Shown until something is applied, or another claim begins. */
  #pauseStopped(
    name: 'deciding' | 'replaying',
    facts: object,
    why: string,
    reason?: UnreadableReason,
  ): State {
    const { permits, report, logger, clock } = this.#options;
    permits.noteLag(null);
    report.stopped(true, reason);
    if (this.#stops.failed(clock.now()) !== null) logger.fatal(facts, `partition stopped: ${why}`);
    return { name, ms: STOPPED_MS };
  }

  #noteContinues(): void {
    this.#stops.end();
    this.#options.report.stopped(false);
  }

  async #withSession<R>(work: () => Promise<R>): Promise<R> {
    const leave = await this.#session.acquire();
    return work().finally(leave);
  }

  #noteLag(messages: number): void {
    if (this.#isOver) return;
    this.#options.permits.noteLag(messages);
    this.#options.report.lag(messages);
    this.#options.report.progress();
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  #sleep(milliseconds: number): Promise<void> {
    return this.#options.clock.sleep(milliseconds, this.#over.signal);
  }
}
