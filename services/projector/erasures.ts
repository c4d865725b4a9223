/**
 * Erases deleted customers whom many records name, for one generation, in the background: one store after the other, in pieces between
 * the slices of the store's partition. Until a record's turn comes, readers mask it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession, Db } from 'mongodb';
import { isWriteConflict } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { pause } from '#shared/waiting.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import type { Epochs } from '#shared/projection/slice/epochs.ts';
import { erasePiece, MAX_PIECE } from '#shared/projection/erasure/pieces.ts';
import { countErasures, findQueued, type QueuedStore } from '#shared/projection/erasure/erase.ts';
import type { Scheduler } from './log/scheduler.ts';
import type { ProjectorMetrics } from './metrics.ts';

const POLL_MS = 1_000;
/** For how long one store is worked on while others wait. */
const STORE_MS = 2_000;
/** A repair of the store is in the way. */
const CONFLICT_MS = 50;
/** The partition's slices wait for a piece: one that took longer is followed by a smaller one. */
const PIECE_MS = 50;
const MIN_PIECE = 10;
const FIRST_PIECE = 50;

export interface ErasuresOptions {
  db: Db;
  labels: { environment: string; generation: string };
  /** The percentage of time that erasing may take. */
  share: number;
  scheduler: Scheduler;
  logger: Logger;
  metrics: ProjectorMetrics['erasures'];
  epochs: Epochs;
  /** The partitions that this process has. */
  partitions: () => number[];
  /** Runs a transaction of a partition's own session between two of its slices; `null` where the partition is not ours. */
  inTransaction: <R extends object>(
    partition: number,
    work: (session: ClientSession) => Promise<R>,
  ) => Promise<R | null>;
}

export class Erasures {
  readonly #options: ErasuresOptions;
  readonly #working: PeriodicTask;

  /** Begins at once. */
  constructor(options: ErasuresOptions) {
    this.#options = options;
    this.#working = new PeriodicTask({
      run: (stopped) => this.#run(stopped),
      everyMs: POLL_MS,
      failed: (error) => options.logger.warn({ ...options.labels, error }, 'customers cannot be erased'),
    });
  }

  /** Stops after the piece that is under way. */
  async stop(): Promise<void> {
    await this.#working.stop();
    const { metrics, labels } = this.#options;
    metrics.open.remove(labels);
    metrics.oldestSeconds.remove(labels);
  }

  /** Works on each store of our partitions for a while. */
  async #run(stopped: AbortSignal): Promise<number | void> {
    const { db, labels, metrics, partitions } = this.#options;
    const queued = await findQueued(db);
    const { open, oldest } = queued.length === 0 ? { open: 0, oldest: null } : await countErasures(db);
    metrics.open.set(labels, open);
    metrics.oldestSeconds.set(
      labels,
      oldest === null ? 0 : Math.max(0, Date.now() - oldest.getTime()) / 1_000,
    );
    const ours = new Set(partitions());
    const stores = queued.filter(({ partition }) => ours.has(partition));
    for (const store of stores) await this.#eraseFrom(store, stopped);
    return stores.length > 0 ? 0 : undefined;
  }

  async #eraseFrom(
    { store_id: storeId, partition, entered_at }: QueuedStore,
    stopped: AbortSignal,
  ): Promise<void> {
    const { db, epochs, inTransaction, labels, logger, metrics, scheduler, share } = this.#options;
    const until = performance.now() + STORE_MS;
    let size = FIRST_PIECE;
    while (!stopped.aborted && performance.now() <= until) {
      const permit = await scheduler.backgroundPermit(stopped);
      const documents = Math.min(size, permit.events);
      const began = performance.now();
      try {
        let erasing = began;
        const piece = await inTransaction(partition, (session) => {
          erasing = performance.now();
          return erasePiece(db, session, storeId, documents, epochs);
        });
        if (piece === null) return;
        const next = Math.floor((documents * PIECE_MS) / (performance.now() - erasing));
        size = Math.min(Math.max(next, MIN_PIECE), 2 * documents, MAX_PIECE.documents);
        epochs.committed(piece.given);
        metrics.erased.inc(labels, piece.erased);
        if (piece.isLast) {
          const seconds = Math.max(0, Math.round((Date.now() - entered_at.getTime()) / 1_000));
          logger.info({ ...labels, store: storeId, seconds }, 'the erasures of the store are done');
          return;
        }
      } catch (error) {
        if (!isWriteConflict(error)) throw error;
        await sleep(CONFLICT_MS);
      } finally {
        permit.end();
        await pause(((performance.now() - began) * (100 - share)) / share, stopped);
      }
    }
  }
}
