/** The erasures of one store, piece by piece, between the slices of its partition. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import { isWriteConflict } from '#shared/errors.ts';
import type { Epochs } from '#shared/projection/changes/epochs.ts';
import { ERASED_BY_PIECE, erasePiece } from '#shared/projection/erasing/piece.ts';
import { advance, type Leased, waitedSeconds } from '#shared/projection/rewriting/queue.ts';
import type { Pieces, Workplace } from './pieces.ts';

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

/** The rest of the work on a store that this process works on. */
export function erasurePieces(
  { db, logger, metrics, labels }: Workplace,
  { epochs, inTransaction }: ErasingOptions,
  leased: Leased,
): Pieces {
  const { store_id: storeId, partition = 0 } = leased;
  let most = Math.min(FIRST_PIECE, ERASED_BY_PIECE.documents);
  const erase = async (documents: number) => {
    let began = 0;
    const erased = await inTransaction(partition, (session) => {
      began = performance.now();
      return erasePiece(db, session, storeId, documents, epochs);
    });
    const next = Math.floor((documents * PIECE_MS) / (performance.now() - began));
    most = Math.min(Math.max(next, SMALLEST_PIECE), 2 * documents, ERASED_BY_PIECE.documents);
    return erased;
  };
  return {
    get most() {
      return most;
    },
    async next(documents) {
      try {
        const piece = await erase(documents);
        if (piece === null) return 'others';
        epochs.committed(piece.given);
        metrics.erased.inc(labels, piece.rewritten);
        if (!piece.isLast) return (await advance(db, leased, null)) ? 'more' : 'ended';
        const seconds = waitedSeconds(leased);
        logger.info({ store: storeId, seconds }, 'the erasures of the store are done');
        return 'ended';
      } catch (error) {
        if (!isWriteConflict(error)) throw error;
        await sleep(CONFLICT_MS);
        return 'more';
      }
    },
  };
}
