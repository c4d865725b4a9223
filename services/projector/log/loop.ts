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
import { countFailures } from '#shared/logging.ts';
import {
  type Claim,
  isSameIdentity,
  isSameMessage,
  sliceLength,
  type SliceLimits,
} from '#shared/projection/slice/checkpoint.ts';
import { createSemaphore } from '#shared/waiting.ts';
import {
  checkHistory,
  type Continuity,
  createContinuity,
  replacedLog,
  type Taken,
} from './continuity.ts';
import type { LoopOptions } from './edges.ts';
import { createFeed, type Feed } from './feed.ts';
import { createSliceWriter, type Failed, isFenced } from './slice-writer.ts';

/**
 * Attempts on a slice before the log is read again. Write conflicts clear quickly: they are retried
 * more often.
 */
const QUICK_ATTEMPTS = { failed: 3, conflict: 20, suspect: 1 };
/** The pause before a slice is tried again: longer each time, up to three times as long. */
const RETRY_MS = 20;
/** The pause before the log is read again: twice as long each time. */
const REST_MS = 1_000;
/** The longest of these pauses, and of those before another claim. */
const MAX_PAUSE_MS = 3_000;
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

export type PartitionLoop = ReturnType<typeof startLoop>;

/** Starts the loop, which runs until it is revoked. */
export function startLoop(options: LoopOptions) {
  const { topic, partition, readBytes, log, store, permits, report, clock, logger } = options;
  const writer = createSliceWriter(options);
  const over = new AbortController();
  /** One piece of work at a time uses the claim's session. */
  const takeSession = createSemaphore(1);
  let present: State = CLAIMING;
  /** The last claim, which the next one names. */
  let claim: Claim | null = null;
  const unclaimed = countFailures();
  /** Stops in a row before something was applied. */
  const stops = countFailures();
  /** Failures in a row before the log was followed. */
  let failures = 0;
  /** Pauses in a row after which a slice failed again. */
  let rests = 0;
  /** `null` once something is applied. */
  let assignedAt: number | null = clock.now();
  report.progress();

  const isOver = () => over.signal.aborted;
  const sleep = (milliseconds: number) => clock.sleep(milliseconds, over.signal);
  /** The offset that is applied next; `null` until the checkpoint is claimed. */
  const position = () => claim?.position ?? null;

  /** Never rejects. */
  async function run(): Promise<void> {
    while (!isOver()) {
      const state = present;
      const next = await step(state).catch((error: unknown) => afterError(state, error));
      if ('feed' in state && !('feed' in next)) state.feed.close();
      if (!isOver()) present = next;
      else if ('feed' in next) next.feed.close();
    }
    await withSession(async () => claim?.session.endSession()).catch(() => undefined);
  }

  /** @returns the next state. */
  async function step(state: State): Promise<State> {
    switch (state.name) {
      case 'claiming':
        await claimCheckpoint(claim);
        return { name: 'checking' };
      case 'checking':
        return check();
      case 'following':
        return follow(state.feed);
      case 'writing':
        return write(state);
      case 'fenced':
        await options.confirmed(over.signal);
        if (!isOver()) await claimCheckpoint(null);
        noteContinues();
        return { name: 'checking' };
      case 'deciding':
      case 'replaying':
      case 'resting':
        await sleep(state.ms);
        return CLAIMING;
      case 'stopped':
    }
    return state;
  }

  function afterError({ name }: State, error: unknown): State {
    // Others do not wait for a stopped partition's backlog.
    permits.noteLag(null);
    if (error instanceof StoreDataError && error.code === 'history_lost')
      return pauseStopped('replaying', { error: error.message }, 'continuing would lose events');
    const failing = unclaimed.failed(clock.now());
    if (failing !== null && !isOver()) {
      const words =
        name === 'following'
          ? 'log cannot be followed yet'
          : 'checkpoint not claimed or log bounds not read yet';
      logger.warn({ ...failing, error: describeError(error) }, words);
    }
    if (isFenced(error)) return { name: 'fenced' };
    failures += 1;
    return { name: 'resting', ms: Math.min(50 * 2 ** failures, MAX_PAUSE_MS) };
  }

  /** @param former the claim that must still be the owner's; `null` to claim it from any. */
  async function claimCheckpoint(former: Claim | null): Promise<void> {
    await withSession(async () => {
      const before = claim;
      claim = await store.claim(former);
      // A claim with a former one ends that one's session itself.
      if (former === null) void before?.session.endSession().catch(() => undefined);
    });
    writer.noteAnswered();
  }

  async function check(): Promise<State> {
    if (claim === null) return CLAIMING;
    const continuity = createContinuity(claim.lastMessage, claim.position, readBytes);
    const end = await checkBounds(continuity);
    unclaimed.end();
    failures = 0;
    noteLag(end - continuity.next);
    const prepareAll = (messages: readonly LogMessage[]) =>
      prepare(messages, 0, writer.limits(Infinity));
    return { name: 'following', feed: createFeed(log, continuity, clock, prepareAll) };
  }

  async function follow(feed: Feed): Promise<State> {
    const following: State = { name: 'following', feed };
    const found = await feed.next(QUIET_MS);
    if (isOver()) return following;
    switch (found?.kind) {
      case undefined:
        return (await checkQuietLog(feed)) ? following : CLAIMING;
      case 'take':
        return { name: 'writing', feed, taken: found.taken, attempts: 0 };
      case 'doubt':
        await checkBounds(feed.continuity);
        return following;
      case 'hidden':
        return continueWithoutProof(feed, found.batch);
      case 'replaced':
    }
    throw replacedLog(options, feed.continuity.last?.offset);
  }

  /** Writes the next slice. @returns the same state while there are more. */
  async function write(writing: Writing): Promise<State> {
    const { feed, taken, attempts } = writing;
    if ((position() ?? 0) >= taken.next) return { name: 'following', feed };
    const index = indexOfPosition(taken);
    if (index === -1) {
      logger.warn(
        { position: position() },
        'the checkpoint is not at this batch: it is read again',
      );
      return CLAIMING;
    }
    const damaged = damagedBatch(taken.messages[index] ?? {});
    if (damaged !== undefined) return skip(taken, index, damaged);
    const outcome = await writeNext(taken, index);
    if (outcome === 'written') return { ...writing, attempts: 0 };
    const failed = attempts + 1;
    if (failed >= QUICK_ATTEMPTS[outcome]) return rest();
    await sleep(RETRY_MS * Math.min(failed, 3));
    // The failed commit may have happened: the checkpoint says so.
    if (!isOver()) await claimCheckpoint(claim);
    return { ...writing, attempts: failed };
  }

  /** Writes one slice of a batch, and prepares the messages behind it meanwhile. */
  async function writeNext(
    { messages, next, logEnd }: Taken,
    index: number,
  ): Promise<'written' | Failed> {
    const permit = await permits.next(over.signal);
    try {
      if (isOver()) return 'failed';
      const limits = writer.limits(permit.events);
      const end = index + sliceLength(messages, index, limits);
      prepare(messages, end, limits);
      const part = messages.slice(index, end);
      const following = end === messages.length ? next : Number(part.at(-1)?.offset) + 1;
      const slice = { topic, partition, messages: part, next: following };
      const outcome = await withSession(async () =>
        claim === null ? 'failed' : writer.write(claim, slice),
      );
      if (outcome === 'written') noteApplied(following, logEnd);
      return outcome;
    } finally {
      permit.end();
    }
  }

  /**
   * With jitter: partitions that failed together would otherwise load a recovering server together.
   */
  function rest(): State {
    const ms = Math.min(REST_MS * 2 ** rests, MAX_PAUSE_MS);
    rests += 1;
    return { name: 'resting', ms: ms * (1 - options.random() / 2) };
  }

  function prepare(messages: readonly LogMessage[], start: number, limits: SliceLimits): void {
    options.prepare(messages.slice(start, start + sliceLength(messages, start, limits)));
  }

  function noteApplied(applied: number, logEnd: number): void {
    noteContinues();
    if (assignedAt !== null) {
      logger.info(
        { position: applied, sinceAssignmentMs: Math.round(clock.now() - assignedAt) },
        'partition is applied',
      );
    }
    assignedAt = null;
    rests = 0;
    noteLag(Math.max(0, logEnd - applied));
  }

  /**
   * Moves the checkpoint behind a damaged batch if an operator decided so. The log is read again
   * from there.
   */
  async function skip(taken: Taken, index: number, damaged: UnreadableBatch): Promise<State> {
    const to = await store.skippedTo(damaged);
    if (to === null) return stopBefore(damaged);
    const skipped = Object.assign({}, taken.messages[index], { unreadable: { ...damaged, to } });
    const written = await writeNext({ ...taken, messages: [skipped], next: to + 1 }, 0);
    if (written !== 'written') return rest();
    const { from, reason } = damaged;
    logger.warn({ from, to, reason }, 'a damaged batch is skipped');
    return CLAIMING;
  }

  /**
   * The index of the message that is written next; -1 if the checkpoint is neither before the batch
   * nor in it.
   */
  function indexOfPosition({ messages, after }: Taken): number {
    const last = claim?.lastMessage ?? null;
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
  async function checkQuietLog(feed: Feed): Promise<boolean> {
    if (claim === null) return false;
    // An absent MongoDB says nothing.
    const isHere = await store.isHere(claim).catch(() => true);
    if (isHere) report.progress();
    if (isOver() || !feed.isEmpty) return true;
    if (!isHere) {
      logger.warn(
        { position: position() },
        'the checkpoint was moved by another process: it is read again',
      );
      return false;
    }
    feed.close();
    if (feed.continuity.canProve) feed.continuity.prove();
    else await checkBounds(feed.continuity);
    return true;
  }

  /** @returns where the log ends. @throws `history_lost` */
  async function checkBounds(continuity: Continuity): Promise<number> {
    const bounds = await log.bounds();
    checkHistory(options, continuity.next, bounds);
    if (continuity.noteBounds(bounds)) {
      logger.warn(
        { position: continuity.next, logStart: bounds.start },
        'the last applied message was deleted from the log: nothing proves any longer that this is the same log',
      );
    }
    return bounds.end;
  }

  /**
   * The last message lies in a batch that can no longer be read. If that is damaged, an operator
   * decides.
   */
  async function continueWithoutProof(feed: Feed, batch: UnreadableBatch): Promise<State> {
    const to = isDamaged(batch) ? await store.skippedTo(batch) : batch.to;
    if (to === null) return stopBefore(batch);
    feed.continuity.giveUpProof();
    return { name: 'following', feed };
  }

  function stopBefore(batch: UnreadableBatch): State {
    const { from, reason, detail } = batch;
    const words =
      `the record batch of the offsets ${offsetsInWords(batch)} cannot be read; ` +
      `"store-data dead-letters skip --topic ${topic} --partition ${partition} --offset ${from}" continues behind it`;
    return pauseStopped('deciding', { offset: from, reason, error: detail }, words, reason);
  }

  /** Shown until something is applied, or another claim begins. */
  function pauseStopped(
    name: 'deciding' | 'replaying',
    facts: object,
    why: string,
    reason?: UnreadableReason,
  ): State {
    permits.noteLag(null);
    report.stopped(true, reason);
    if (stops.failed(clock.now()) !== null) logger.fatal(facts, `partition stopped: ${why}`);
    return { name, ms: STOPPED_MS };
  }

  function noteContinues(): void {
    stops.end();
    report.stopped(false);
  }

  async function withSession<R>(work: () => Promise<R>): Promise<R> {
    const leave = await takeSession();
    return work().finally(leave);
  }

  function noteLag(messages: number): void {
    if (isOver()) return;
    permits.noteLag(messages);
    report.lag(messages);
    report.progress();
  }

  /** Resolves when its work has ended. */
  const ended = run();
  return {
    ended,

    get position(): number | null {
      return position();
    },

    /**
     * Ends the loop after the current transaction: the partition now belongs to another process, or
     * to none.
     */
    revoke(): void {
      over.abort();
      if ('feed' in present) present.feed.close();
      present = { name: 'stopped' };
      permits.noteLag(null);
      report.end();
    },

    /**
     * Runs work in the claim's session between two slices; `null` if the partition is not ours, or
     * not claimed yet.
     */
    runBetweenSlices: <R>(work: (claim: Claim) => Promise<R>): Promise<R | null> =>
      withSession(async () => (claim === null || isOver() ? null : work(claim))),

    /** Shows the lag by the bounds of the log, also while nothing is read. */
    noteBounds(bounds: FullBounds): void {
      report.bounds(bounds);
      if (claim !== null) report.lag(Math.max(0, bounds.end - claim.position));
    },
  };
}
