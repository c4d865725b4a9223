/**
 * Rewrites the bodies of stores whose offset has moved, in the background, for one generation: stores take turns, each batch
 * is followed by a rest, and what has a backlog goes first. Until a body's turn comes it is shifted whenever it is read.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { describeError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import type { Pace } from '../generations/pace.ts';
import { rewriteBatch } from './batch.ts';
import { countLeft } from './left.ts';
import type { RewritingMetrics } from './metrics.ts';
import { afterBatch, BEGINNING } from './progress.ts';
import { advance, claim, type Claimed, finish, release } from './queue.ts';

/** How often it is looked whether a store's offset has moved. */
const LOOK_MS = 1_000;
/** For how long one store is worked on while others wait. */
const TURN_MS = 2_000;
/** A longer rest would end what `queue.ts` promises of a store that is worked on. */
const LONGEST_REST_MS = 3_000;
/** Documents of one batch at most; while events are applied the pace allows fewer. */
const BATCH = 500;
/** A small share has small batches, so that the rest that it asks for is never longer than the longest. */
const BATCH_PER_PERCENT = 20;

export interface RewriterOptions {
  db: Db;
  labels: { environment: string; generation: string };
  /** The percentage of time that rewriting may take. */
  share: number;
  pace: Pace;
  logger: Logger;
  metrics: RewritingMetrics;
}

export class Rewriter {
  readonly #options: RewriterOptions;
  readonly #owner = randomUUID();
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #said = '';

  /** Begins at once. */
  constructor(options: RewriterOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Stops after the batch that is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    const { metrics, labels } = this.#options;
    metrics.storesLeft.remove(labels);
    metrics.recordsLeft.remove(labels);
  }

  #isStopped = (): boolean => this.#stopping.signal.aborted;

  async #run(): Promise<void> {
    while (!this.#isStopped()) {
      let worked = false;
      try {
        await this.#showLeft();
        worked = await this.#work();
        this.#said = '';
      } catch (error) {
        this.#say(describeError(error));
      }
      if (!worked) await this.#rest(LOOK_MS);
    }
  }

  /** Works on one store for a while. @returns whether there was one. */
  async #work(): Promise<boolean> {
    const { db, labels, logger } = this.#options;
    const claimed = await claim(db, this.#owner);
    if (claimed === null) return false;
    const stamp = await db
      .collection<Stamp>(STAMPS)
      .findOne({ _id: claimed._id }, { projection: { timezone_offset: 1 }, maxTimeMS: 5_000 });
    const offset = stamp?.timezone_offset ?? DEFAULT_OFFSET;
    const log = logger.child({ ...labels, store: claimed._id, offset });
    if (claimed.done === undefined) log.info('rewrites the bodies of a store whose offset has moved');
    const rewritten = await this.#goThrough(claimed, offset);
    if (rewritten === null || !(await finish(db, claimed))) return true;
    const seconds = Math.max(0, Math.round((Date.now() - claimed.moved_at.getTime()) / 1_000));
    log.info({ rewritten, seconds }, 'the bodies of the store are made for its offset');
    return true;
  }

  /** @returns how many were rewritten in all; `null` where the store's turn is over before. */
  async #goThrough(claimed: Claimed, offset: string): Promise<number | null> {
    const { db } = this.#options;
    const until = performance.now() + TURN_MS;
    let progress = claimed.done ?? BEGINNING;
    while (progress.collection !== null) {
      if (this.#isStopped() || performance.now() > until) {
        await release(db, claimed);
        return null;
      }
      const { collection, last: after } = progress;
      const batch = { collection, storeId: claimed._id, after, offset };
      const next = await this.#beside(async (documents) => {
        const result = await rewriteBatch(db, { ...batch, documents });
        if (result === null) return null;
        this.#options.metrics.rewritten.inc(this.#options.labels, result.rewritten);
        const then = afterBatch(progress, result);
        // Nothing is lost with what was found empty.
        return result.looked === 0 || then.collection === null || (await advance(db, claimed, then))
          ? then
          : null;
      });
      if (next === null) return null;
      progress = next;
    }
    return progress.rewritten;
  }

  /** Does a part of the work when its time has come, and rests in proportion to what it took. */
  async #beside<T>(work: (documents: number) => Promise<T>): Promise<T> {
    const { pace, share } = this.#options;
    const turn = await pace.beginAside(this.#isStopped);
    const began = performance.now();
    try {
      return await work(Math.min(BATCH, turn.events, share * BATCH_PER_PERCENT));
    } finally {
      turn.end();
      const rest = ((performance.now() - began) * (100 - share)) / share;
      await this.#rest(Math.min(rest, LONGEST_REST_MS));
    }
  }

  async #showLeft(): Promise<void> {
    const { db, labels, metrics } = this.#options;
    const { stores, records } = await countLeft(db);
    metrics.storesLeft.set(labels, stores);
    metrics.recordsLeft.set(labels, records);
  }

  async #rest(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  /** Says once what goes wrong, however often it is tried again. */
  #say(words: string): void {
    if (words === this.#said) return;
    this.#said = words;
    this.#options.logger.warn({ ...this.#options.labels, error: words }, 'bodies cannot be rewritten');
  }
}
