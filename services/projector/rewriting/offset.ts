/** The bodies of one store whose offset has moved, made for its present one, batch by batch. */
import { rewriteBatch } from '#shared/projection/rewriting/batch.ts';
import { afterBatch, BEGINNING } from '#shared/projection/rewriting/progress.ts';
import { advance, type Leased, finish, waitedSeconds } from '#shared/projection/rewriting/queue.ts';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import type { Pieces, Workplace } from './pieces.ts';

/** Documents of one batch at most. */
const BATCH = 500;

/** The rest of the work on a store that this process works on. */
export async function offsetPieces(
  { db, logger, metrics, labels }: Workplace,
  leased: Leased,
): Promise<Pieces> {
  const { store_id: storeId } = leased;
  const stamp = await db
    .collection<Stamp>(STAMPS)
    .findOne({ _id: storeId }, { projection: { timezone_offset: 1 }, maxTimeMS: 5_000 });
  const offset = stamp?.timezone_offset ?? DEFAULT_OFFSET;
  const log = logger.child({ store: storeId, offset });
  if (leased.done === undefined) log.info('rewrites the bodies of a store whose offset has moved');
  let progress = leased.done ?? BEGINNING;
  return {
    most: BATCH,
    async next(documents) {
      const { collection, last: after } = progress;
      if (collection !== null) {
        const result = await rewriteBatch(db, { collection, storeId, after, documents, offset });
        if (result === null) return 'ended';
        metrics.rewritten.inc(labels, result.rewritten);
        progress = afterBatch(progress, result);
        // Nothing is lost with what was found empty.
        const isKept = result.looked === 0 || progress.collection === null;
        if (!isKept && !(await advance(db, leased, progress))) return 'ended';
      }
      if (progress.collection !== null) return 'more';
      if (await finish(db, leased)) {
        const { rewritten } = progress;
        log.info(
          { rewritten, seconds: waitedSeconds(leased) },
          'the bodies of the store are made for its offset',
        );
      }
      return 'ended';
    },
  };
}
