/** The erasures of one store, piece by piece, between the slices of its partition. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import { isWriteConflict } from '#shared/errors.ts';
import type { Epochs } from '#shared/projection/changes/epochs.ts';
import { ERASED_BY_PIECE, erasePiece } from '#shared/projection/erasing/piece.ts';
import { advance, type Claimed, release } from '#shared/projection/rewriting/queue.ts';
import type { Shift } from './shift.ts';

/** A repair of the store, or a rewriting of its bodies by another process, is in the way. */
const CONFLICT_MS = 50;

/** The partition's slices wait for a piece that is under way, so that one that took longer is followed by a smaller one. */
const PIECE_MS = 50;
const SMALLEST_PIECE = 10;
const FIRST_PIECE = 50;

export interface ErasingOptions {
  epochs: Epochs;
  /** The partitions that this process has. */
  partitions: () => number[];
  /** Runs a transaction of a partition's own session between two of its slices; `null` where the partition is not ours. */
  inTransaction: <R extends object>(
    partition: number,
    work: (session: ClientSession) => Promise<R>,
  ) => Promise<R | null>;
}

/** Works on a claimed store until it is done, or others' turn has come. */
export async function eraseInStore(
  shift: Shift,
  { epochs, inTransaction }: ErasingOptions,
  claimed: Claimed,
): Promise<void> {
  const { db, metrics, labels, logger } = shift;
  const { store_id: storeId, partition = 0 } = claimed;
  let most = Math.min(FIRST_PIECE, ERASED_BY_PIECE.documents);
  while (!shift.isOver()) {
    const piece = await shift.beside(most, async (documents) => {
      try {
        let began = 0;
        const erased = await inTransaction(partition, (session) => {
          began = performance.now();
          return erasePiece(db, session, storeId, documents, epochs);
        });
        const next = Math.floor((documents * PIECE_MS) / (performance.now() - began));
        most = Math.min(Math.max(next, SMALLEST_PIECE), 2 * documents, ERASED_BY_PIECE.documents);
        return erased;
      } catch (error) {
        if (!isWriteConflict(error)) throw error;
        await sleep(CONFLICT_MS);
        return { conflict: true } as const;
      }
    });
    if (piece === null) break;
    if ('conflict' in piece) continue;
    epochs.remember(piece.given);
    metrics.erased.inc(labels, piece.rewritten);
    if (piece.isLast) {
      const seconds = Math.max(0, Math.round((Date.now() - claimed.entered_at.getTime()) / 1_000));
      logger.info({ store: storeId, seconds }, 'the erasures of the store are done');
      return;
    }
    if (!(await advance(db, claimed, null))) return;
  }
  await release(db, claimed);
}
