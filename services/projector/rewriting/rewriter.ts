/**
 * Rewrites the bodies of stores whose offset has moved, and of those with customers that are being erased, in the background, for one
 * generation: stores take turns, each batch is followed by a rest, and what has a backlog goes first. Until a body's turn comes
 * it is shifted, or masked, whenever it is read.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { describeError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import type { Pace } from '../generations/pace.ts';
import { eraseInStore, type ErasingOptions } from './erasures.ts';
import { countErasures, countLeft } from './remaining.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import { rewriteMovedStore } from './offset.ts';
import { claim } from '#shared/projection/rewriting/queue.ts';
import type { Shift } from './shift.ts';

/** How often it is looked whether a store has entered. */
const LOOK_MS = 1_000;
/** For how long one store is worked on while others wait. */
const TURN_MS = 2_000;
/** A longer rest would end what `queue.ts` promises of a store that is worked on. */
const LONGEST_REST_MS = 3_000;
/** A small share has small batches, so that the rest that it asks for is never longer than the longest. */
const BATCH_PER_PERCENT = 20;

export interface RewriterOptions {
  db: Db;
  labels: { environment: string; generation: string };
  /** The percentage of time that rewriting may take. */
  share: number;
  pace: Pace;
  logger: Logger;
  metrics: ProjectorMetrics['rewriting'];
  erasing: ErasingOptions;
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
    metrics.erasures.remove(labels);
    metrics.oldestErasureSeconds.remove(labels);
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
    const { db, labels, logger, metrics, erasing } = this.#options;
    const claimed = await claim(db, this.#owner, erasing.partitions());
    if (claimed === null) return false;
    const until = performance.now() + TURN_MS;
    const shift: Shift = {
      db,
      logger: logger.child(labels),
      metrics,
      labels,
      isOver: () => this.#isStopped() || performance.now() > until,
      beside: (most, work) => this.#beside(most, work),
    };
    if (claimed.kind === 'erasures') await eraseInStore(shift, erasing, claimed);
    else await rewriteMovedStore(shift, claimed);
    return true;
  }

  /** As `Shift.beside`. */
  async #beside<T>(most: number, work: (documents: number) => Promise<T>): Promise<T> {
    const { pace, share } = this.#options;
    const turn = await pace.beginAside(this.#isStopped);
    const began = performance.now();
    try {
      return await work(Math.min(most, turn.events, share * BATCH_PER_PERCENT));
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
    const { erasures, oldestSeconds } = await countErasures(db);
    metrics.erasures.set(labels, erasures);
    metrics.oldestErasureSeconds.set(labels, oldestSeconds);
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
