/**
 * Erases deleted customers whom many records name, for one generation, in the background: store by
 * store, in pieces between the slices of the store's partition. Readers mask the records that are
 * not erased yet.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { isWriteConflict } from '#shared/errors.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';
import { countErasures, findQueued, type QueuedStore } from '#shared/projection/erasure/erase.ts';
import { erasePiece, MAX_PIECE } from '#shared/projection/erasure/pieces.ts';
import type { Epochs } from '#shared/projection/slice/epochs.ts';
import { pause } from '#shared/waiting.ts';
import type { Assignment } from './log/assignment.ts';
import { secondsSince } from './metrics.ts';
import type { Parts } from './parts.ts';

const POLL_MS = 1_000;
/** How long one store is worked on while others wait. */
const STORE_MS = 2_000;
/** The pause after a write conflict with a repair of the store. */
const CONFLICT_MS = 50;

interface Generation {
  db: Db;
  labels: { environment: string; generation: string };
  epochs: Epochs;
  assignment: Assignment;
}

/** Starts at once. @returns a function that stops it after the current piece. */
export function startErasures(parts: Parts, generation: Generation): () => Promise<void> {
  const { logger, metrics } = parts;
  const { open: openGauge, oldestSeconds } = metrics.erasures;
  const { db, labels, assignment } = generation;
  const working = startPeriodicTask({
    run: async (stopped) => {
      const queued = await findQueued(db);
      const { open, oldest } =
        queued.length === 0 ? { open: 0, oldest: null } : await countErasures(db);
      openGauge.set(labels, open);
      oldestSeconds.set(labels, secondsSince(oldest));
      const ours = assignment.positions();
      const stores = queued.filter(({ partition }) => ours.has(partition));
      for (const store of stores) await eraseFrom(parts, generation, store, stopped);
      return stores.length > 0 ? 0 : undefined;
    },
    everyMs: POLL_MS,
    failed: (error) => logger.warn({ ...labels, error }, 'customers cannot be erased'),
  });
  return async () => {
    await working.stop();
    for (const gauge of [openGauge, oldestSeconds]) gauge.remove(labels);
  };
}

async function eraseFrom(
  { config, logger, metrics, scheduler }: Parts,
  { db, epochs, assignment, labels }: Generation,
  { store_id: storeId, partition, entered_at }: QueuedStore,
  stopped: AbortSignal,
): Promise<void> {
  const share = config.projector.rewritingShare;
  const until = performance.now() + STORE_MS;
  while (!stopped.aborted && performance.now() <= until) {
    const permit = await scheduler.backgroundPermit(stopped);
    const documents = Math.min(permit.events, MAX_PIECE.documents);
    const began = performance.now();
    try {
      const piece = await assignment.runBetweenSlices(partition, (session) =>
        erasePiece(db, session, storeId, documents, epochs),
      );
      if (piece === null) return;
      epochs.committed(piece.given);
      metrics.erasures.erased.inc(labels, piece.erased);
      if (!piece.isLast) continue;
      const seconds = Math.round(secondsSince(entered_at));
      logger.info({ ...labels, store: storeId, seconds }, 'the erasures of the store are done');
      return;
    } catch (error) {
      if (!isWriteConflict(error)) throw error;
      await sleep(CONFLICT_MS);
    } finally {
      permit.end();
      await pause(((performance.now() - began) * (100 - share)) / share, stopped);
    }
  }
}
