/**
 * One partition during one assignment: claims its checkpoint, checks that the log reaches it, follows the log, and writes it slice by
 * slice. A new assignment makes a new loop, whose claim fences the old one.
 */
import type { ClientSession } from 'mongodb';
import { describeError, StoreDataError } from '#shared/errors.ts';
import {
  damagedBatch,
  isDamaged,
  type LogMessage,
  offsetsInWords,
  type UnreadableBatch,
} from '#shared/kafka/message.ts';
import { FailureTracker } from '#shared/logging.ts';
import {
  type Claim,
  isSameIdentity,
  isSameMessage,
  type ClaimState,
  sliceLength,
  type SliceLimits,
} from '#shared/projection/slice/checkpoint.ts';
import { Semaphore } from '#shared/waiting.ts';
import { checkHistory, Continuity, type FetchedBatch, replacedLog, type Taken } from './continuity.ts';
import type { LoopOptions } from './edges.ts';
import { Feed } from './feed.ts';
import { type Failed, isFenced, SliceWriter } from './slice-writer.ts';

/** Attempts on a slice before the log is read again. Write conflicts clear quickly: they are retried more often. */
const QUICK_ATTEMPTS = { failed: 3, conflict: 20, suspect: 1 };
/** The pause before a slice is tried again: longer each time, up to three times as long. */
const RETRY_MS = 20;
/** The pause before the log is read again: twice as long each time. */
const REST_MS = 1_000;
const MAX_REST_MS = 3_000;
const MAX_CLAIM_PAUSE_MS = 3_000;
/** How long the log may be quiet before the log and the checkpoint are checked. */
const QUIET_MS = 10_000;
/** How often a stopped partition polls for an operator's decision. */
const DECISION_POLL_MS = 1_000;
/** How often it reads the damaged batch again: another broker may have it whole. */
const READ_AGAIN_MS = 30_000;

/** Interrupts following the log. The checkpoint is claimed again after a pause, or after a decision about a damaged batch. */
class StartOver extends Error {
  readonly afterMs: number;
  readonly damaged: UnreadableBatch | null;

  constructor(afterMs: number, damaged: UnreadableBatch | null = null) {
    super('the checkpoint is claimed again');
    this.afterMs = afterMs;
    this.damaged = damaged;
  }
}

export class PartitionLoop {
  readonly #options: LoopOptions;
  readonly #writer: SliceWriter;
  readonly #feed: Feed;
  readonly #over = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** One piece of work at a time uses the claim's session. */
  readonly #session = new Semaphore(1);
  #claim: Claim | null = null;
  /** Whether the last claim failed because the checkpoint has another owner. */
  #isFenced = false;
  #isFollowing = false;
  readonly #unclaimed = new FailureTracker();
  /** Pauses in a row after which a slice failed again. */
  #rests = 0;
  /** `null` once something is applied. */
  #assignedAt: number | null;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#writer = new SliceWriter(options);
    this.#feed = new Feed(options.log, options.clock, this.#over.signal, (messages) =>
      this.#prepare(messages, 0, this.#writer.limits(Infinity)),
    );
    this.#assignedAt = options.clock.now();
    options.report.progress();
  }

  /** The offset that is applied next; `null` until the checkpoint is claimed. */
  get position(): number | null {
    return this.#claim?.position ?? null;
  }

  /** Whether it only waits for the next message. */
  get isIdle(): boolean {
    return this.#isFollowing && this.#feed.isIdle;
  }

  /** Takes a fetched batch. The next fetch may begin when it resolves. */
  take(batch: FetchedBatch): Promise<void> {
    return this.#feed.take(batch);
  }

  /** Lets `run` end after the current transaction. */
  stop(): void {
    this.#over.abort();
    this.#feed.close();
  }

  /** Called when another loop gets the partition, here or elsewhere. */
  revoke(): void {
    this.stop();
    this.#isFollowing = false;
    this.#options.permits.noteLag(null);
    this.#options.report.end();
  }

  /** Called when it is assigned to us again: current work continues. @returns `false` if a new loop must claim it. */
  retain(): boolean {
    if (this.#claim === null) return !this.#isOver;
    if (this.#isFollowing) this.#feed.seek();
    return this.#isFollowing;
  }

  /** Whether another owner has claimed the partition since; `false` if that is unknown. */
  async isClaimedByOther(): Promise<boolean> {
    const claim = this.#claim;
    if (claim === null || !this.#isFollowing) return false;
    return (await this.#whereIs(claim)) === 'not ours' && this.#claim === claim;
  }

  /** Runs work in the claim's session between two slices; `null` if the partition is not ours, or not claimed yet. */
  runBetweenSlices<R>(work: (session: ClientSession) => Promise<R>): Promise<R | null> {
    return this.#withSession(async () => (this.#claim === null || this.#isOver ? null : work(this.#claim.session)));
  }

  /** Resolves when its work has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Follows the log until the loop is stopped, and starts over after each error. Called once; never rejects. */
  async run(): Promise<void> {
    for (let attempt = 0; !this.#isOver; attempt += 1) {
      try {
        this.#isFollowing = false;
        const continuity = await this.#open();
        attempt = 0;
        await this.#follow(continuity);
      } catch (error) {
        if (this.#isOver) break;
        this.#feed.close();
        await this.#recover(error, attempt);
      }
    }
    await this.#withSession(async () => this.#claim?.session.endSession()).catch(() => undefined);
    this.#ended.resolve();
  }

  async #open(): Promise<Continuity> {
    const { position, lastMessage } = await this.#claimCheckpoint();
    const continuity = new Continuity(lastMessage, position);
    const { end } = await this.#readBounds(continuity);
    this.#unclaimed.end();
    this.#noteLag(end - position);
    return continuity;
  }

  async #follow(continuity: Continuity): Promise<void> {
    if (this.#isOver) return;
    this.#isFollowing = true;
    this.#feed.open(continuity);
    while (!this.#isOver) {
      const fetched = await this.#feed.next(QUIET_MS);
      if (this.#isOver) return;
      switch (fetched?.kind) {
        case undefined:
          await this.#checkQuietLog(continuity);
          break;
        case 'take':
          await this.#write(fetched.taken);
          break;
        case 'doubt':
          await this.#checkBounds(continuity, fetched.isMissing);
          break;
        case 'hidden':
          await this.#continueWithoutProof(continuity, fetched.batch);
          break;
        case 'replaced':
          throw replacedLog(this.#options, continuity.last?.offset);
      }
    }
  }

  async #write(taken: Taken): Promise<void> {
    const { messages } = taken;
    let failures = 0;
    for (let index = this.#indexOfPosition(taken); (this.position ?? 0) < taken.next;) {
      if (index === -1) {
        this.#options.logger.warn({ position: this.position }, 'the checkpoint is not at this batch: seeking');
        throw new StartOver(0);
      }
      const damaged = damagedBatch(messages[index] ?? {});
      if (damaged !== undefined) return this.#skip(taken, index, damaged);
      const written = await this.#writeNext(taken, index);
      if (this.#isOver) return;
      if (typeof written === 'number') {
        index = written;
        failures = 0;
        continue;
      }
      failures += 1;
      if (failures >= QUICK_ATTEMPTS[written]) throw new StartOver(this.#nextRestMs());
      await this.#sleep(RETRY_MS * Math.min(failures, 3));
      if (this.#isOver) return;
      // The failed commit may have happened: the checkpoint says so.
      await this.#claimCheckpoint();
      index = this.#indexOfPosition(taken);
    }
  }

  /** Writes one slice of a batch, and prepares the messages behind it meanwhile. @returns the index behind it, or how it failed. */
  async #writeNext({ messages, next, logEnd }: Taken, index: number): Promise<number | Failed> {
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
      if (outcome !== 'written') return outcome;
      this.#noteApplied(following, logEnd);
      return end;
    } finally {
      permit.end();
    }
  }

  /** With jitter: partitions that failed together would otherwise load a recovering server together. */
  #nextRestMs(): number {
    const ms = Math.min(REST_MS * 2 ** this.#rests, MAX_REST_MS);
    this.#rests += 1;
    return ms * (1 - this.#options.random() / 2);
  }

  #prepare(messages: readonly LogMessage[], start: number, limits: SliceLimits): void {
    this.#options.prepare(messages.slice(start, start + sliceLength(messages, start, limits)));
  }

  #noteApplied(position: number, logEnd: number): void {
    const { clock, report, logger } = this.#options;
    report.stopped(false);
    if (this.#assignedAt !== null) {
      logger.info({ position, sinceAssignmentMs: Math.round(clock.now() - this.#assignedAt) }, 'partition is applied');
    }
    this.#assignedAt = null;
    this.#rests = 0;
    this.#noteLag(Math.max(0, logEnd - position));
  }

  /** Moves the checkpoint behind a damaged batch if an operator decided so, and reads the log from there. */
  async #skip(taken: Taken, index: number, damaged: UnreadableBatch): Promise<never> {
    const to = await this.#options.store.skippedTo(damaged);
    if (to === null) throw new StartOver(0, damaged);
    const skipped = Object.assign({}, taken.messages[index], { unreadable: { ...damaged, to } });
    const written = await this.#writeNext({ ...taken, messages: [skipped], next: to + 1 }, 0);
    if (typeof written === 'string') throw new StartOver(this.#nextRestMs());
    const { from, reason } = damaged;
    this.#options.logger.warn({ from, to, reason }, 'a damaged batch is skipped');
    throw new StartOver(0);
  }

  /** The index of the message that is written next; -1 if the checkpoint is neither before the batch nor in it. */
  #indexOfPosition({ messages, after }: Taken): number {
    const last = this.#claim?.lastMessage ?? null;
    if (isSameIdentity(last, after)) return 0;
    const at = messages.findIndex(({ offset }) => Number(offset) === last?.offset);
    const found = messages[at];
    return last !== null && found !== undefined && isSameMessage(last, found) ? at + 1 : -1;
  }

  /**
   * Nothing came for a while. Checks that the checkpoint has not moved, and lets the log show the last message again: otherwise a
   * replaced log or database would go unnoticed.
   */
  async #checkQuietLog(continuity: Continuity): Promise<void> {
    const claim = this.#claim;
    if (claim === null) return;
    const place = await this.#whereIs(claim);
    if (this.#isOver) return;
    if (place === 'here') this.#options.report.progress();
    if (!this.#feed.isEmpty) return;
    if (place !== 'here') {
      const { position } = claim;
      this.#options.logger.warn({ position }, 'the checkpoint was moved by another process: it is read again');
      throw new StartOver(0);
    }
    if (continuity.fetchesLast) return this.#checkBounds(continuity, false);
    continuity.fetchLast();
    this.#feed.seek();
  }

  /**
   * Reads the bounds of the log before the next fetch.
   * @param isMissing whether a fetch that began at the last message did not show it.
   */
  async #checkBounds(continuity: Continuity, isMissing: boolean): Promise<void> {
    this.#feed.hold();
    const { isCutOff } = await this.#readBounds(continuity);
    if (isMissing && !isCutOff) throw replacedLog(this.#options, continuity.last?.offset);
    this.#feed.continue();
  }

  /** @returns where the log ends, and whether it now begins behind the last message. @throws `history_lost` */
  async #readBounds(continuity: Continuity): Promise<{ end: number; isCutOff: boolean }> {
    const { start, end } = await this.#options.log.bounds();
    checkHistory(this.#options, continuity.next, { start, end });
    const isCutOff = continuity.giveUpProofBefore(start);
    if (isCutOff) {
      this.#options.logger.warn(
        { position: continuity.next, logStart: start },
        'the last applied message was deleted from the log: nothing proves any longer that this is the same log',
      );
    }
    return { end, isCutOff };
  }

  /** The last message lies in a batch that can no longer be read. If that is damaged, an operator decides. */
  async #continueWithoutProof(continuity: Continuity, batch: UnreadableBatch): Promise<void> {
    const to = isDamaged(batch) ? await this.#options.store.skippedTo(batch) : batch.to;
    if (to === null) throw new StartOver(0, batch);
    continuity.giveUpProof();
    this.#feed.continue();
  }

  async #recover(error: unknown, attempt: number): Promise<void> {
    if (error instanceof StartOver && error.damaged === null) return this.#sleep(error.afterMs);
    // Others do not wait for a stopped partition's backlog.
    this.#options.permits.noteLag(null);
    if (error instanceof StartOver && error.damaged !== null) return this.#waitForDecision(error.damaged);
    if (error instanceof StoreDataError && error.code === 'history_lost') return this.#waitForReplay(error);
    const failures = this.#unclaimed.failed(this.#options.clock.now());
    if (failures !== null) {
      this.#options.logger.warn(
        { ...failures, error: describeError(error) },
        this.#isFollowing ? 'log cannot be followed yet' : 'checkpoint not claimed or log bounds not read yet',
      );
    }
    this.#isFenced = isFenced(error);
    // If the group gave the partition to another member, a heartbeat reports that meanwhile, and this loop is stopped.
    const { fencedPauseMs } = this.#options;
    await this.#sleep(this.#isFenced ? fencedPauseMs : Math.min(100 * 2 ** attempt, MAX_CLAIM_PAUSE_MS));
  }

  /** Stops until an operator removes the checkpoint, so that the log is applied from its beginning. */
  async #waitForReplay(error: StoreDataError): Promise<void> {
    const { logger, report } = this.#options;
    report.stopped(true);
    logger.fatal({ error: error.message }, 'partition stopped: continuing would lose events');
    while (!this.#isOver) {
      await this.#sleep(DECISION_POLL_MS);
      if (this.#claim === null || (await this.#whereIs(this.#claim)) !== 'gone') continue;
      report.stopped(false);
      logger.warn({}, 'the checkpoint was removed: the log is applied from its beginning');
      await this.#claim.session.endSession();
      this.#claim = null;
      return;
    }
  }

  /** Stops before a damaged batch until an operator skips it, or until it is time to read it again. */
  async #waitForDecision(batch: UnreadableBatch): Promise<void> {
    const { topic, partition, report, logger, store, clock } = this.#options;
    const { from, reason, detail } = batch;
    // Shown until something behind it is applied.
    report.stopped(true, reason);
    logger.fatal(
      { offset: from, reason, error: detail },
      `partition stopped: the record batch of the offsets ${offsetsInWords(batch)} cannot be read; ` +
        `"store-data dead-letters skip --topic ${topic} --partition ${partition} --offset ${from}" continues behind it`,
    );
    for (const since = clock.now(); clock.now() - since < READ_AGAIN_MS;) {
      await this.#sleep(DECISION_POLL_MS);
      if (this.#isOver) return;
      if ((await store.skippedTo(batch).catch(() => null)) !== null) return;
    }
  }

  async #claimCheckpoint(): Promise<Claim> {
    const claim = await this.#withSession(async () => {
      const former = this.#claim;
      this.#claim = await this.#options.store.claim(this.#isFenced ? null : former);
      // A claim with a former one ends that one's session itself.
      if (this.#isFenced) void former?.session.endSession().catch(() => undefined);
      this.#isFenced = false;
      return this.#claim;
    });
    this.#writer.noteAnswered();
    return claim;
  }

  /** `here` if MongoDB does not answer. */
  #whereIs(claim: Claim): Promise<ClaimState> {
    return this.#options.store.whereIs(claim).catch(() => 'here' as const);
  }

  async #withSession<R>(work: () => Promise<R>): Promise<R> {
    const leave = await this.#session.acquire();
    return work().finally(leave);
  }

  #noteLag(messages: number): void {
    if (this.#isOver) return;
    this.#options.permits.noteLag(messages);
    this.#options.report.lag(messages);
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  #sleep(milliseconds: number): Promise<void> {
    return this.#options.clock.sleep(milliseconds, this.#over.signal);
  }
}
