/**
 * Rewrites the bodies of stores whose offset has moved, and of those with customers that are being erased, in the background, for one
 * generation: stores take turns, each batch is followed by a rest, and what has a backlog goes first. Until a body's turn comes
 * it is shifted, or masked, whenever it is read.
 */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import type { Logger } from '#shared/logging.ts';
import { pause } from '#shared/pause.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import type { Pace } from '../generations/pace.ts';
import { erasurePieces, type ErasingOptions } from './erasures.ts';
import { findLeft } from './remaining.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import { offsetPieces } from './offset.ts';
import type { Pieces } from './pieces.ts';
import { release, takeLease } from '#shared/projection/rewriting/queue.ts';

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
  readonly #working: PeriodicTask;

  /** Begins at once. */
  constructor(options: RewriterOptions) {
    this.#options = options;
    this.#working = new PeriodicTask({
      run: (stopped) => this.#run(stopped),
      everyMs: LOOK_MS,
      failed: (error) => options.logger.warn({ ...options.labels, error }, 'bodies cannot be rewritten'),
    });
  }

  /** Stops after the batch that is under way. */
  async stop(): Promise<void> {
    await this.#working.stop();
    const { metrics, labels } = this.#options;
    metrics.storesLeft.remove(labels);
    metrics.recordsLeft.remove(labels);
    metrics.erasures.remove(labels);
    metrics.oldestErasureSeconds.remove(labels);
  }

  /** Works on one store for a while; where there is one, the next follows at once. */
  async #run(stopped: AbortSignal): Promise<number | void> {
    if (!(await this.#showLeft())) return;
    const { db, labels, logger, metrics, erasing } = this.#options;
    const leased = await takeLease(db, this.#owner, erasing.partitions());
    if (leased === null) return;
    const until = performance.now() + TURN_MS;
    const workplace = { db, logger: logger.child(labels), metrics, labels };
    const pieces =
      leased.kind === 'erasures'
        ? erasurePieces(workplace, erasing, leased)
        : await offsetPieces(workplace, leased);
    let state: Awaited<ReturnType<Pieces['next']>> = 'more';
    while (state === 'more' && !stopped.aborted && performance.now() <= until) {
      state = await this.#beside(stopped, pieces);
    }
    if (state !== 'ended') await release(db, leased);
    return 0;
  }

  /** Does a piece when its time has come, and rests in proportion to what it took. */
  async #beside(stopped: AbortSignal, { most, next }: Pieces): ReturnType<Pieces['next']> {
    const { pace, share } = this.#options;
    const turn = await pace.nextAside(() => stopped.aborted);
    const began = performance.now();
    try {
      return await next(Math.min(most, turn.events, share * BATCH_PER_PERCENT));
    } finally {
      turn.end();
      const rest = ((performance.now() - began) * (100 - share)) / share;
      await pause(Math.min(rest, LONGEST_REST_MS), stopped);
    }
  }

  /** @returns whether there is something to do, for us or for others. */
  async #showLeft(): Promise<boolean> {
    const { db, labels, metrics } = this.#options;
    const { isQueued, stores, records, erasures, oldestSeconds } = await findLeft(db);
    metrics.storesLeft.set(labels, stores);
    metrics.recordsLeft.set(labels, records);
    metrics.erasures.set(labels, erasures);
    metrics.oldestErasureSeconds.set(labels, oldestSeconds);
    return isQueued;
  }
}
