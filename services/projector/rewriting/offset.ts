/** The bodies of one store whose offset has moved, made for its present one, batch by batch. */
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import { rewriteBatch } from '#shared/projection/rewriting/batch.ts';
import { afterBatch, BEGINNING } from '#shared/projection/rewriting/progress.ts';
import { advance, type Claimed, finish, release } from '#shared/projection/rewriting/queue.ts';
import type { Shift } from './shift.ts';

/** Documents of one batch at most. */
const BATCH = 500;

/** Works on a claimed store until it is done, or others' turn has come. */
export async function rewriteMovedStore(shift: Shift, claimed: Claimed): Promise<void> {
  const { db } = shift;
  const stamp = await db
    .collection<Stamp>(STAMPS)
    .findOne({ _id: claimed.store_id }, { projection: { timezone_offset: 1 }, maxTimeMS: 5_000 });
  const offset = stamp?.timezone_offset ?? DEFAULT_OFFSET;
  const log = shift.logger.child({ store: claimed.store_id, offset });
  if (claimed.done === undefined) log.info('rewrites the bodies of a store whose offset has moved');
  const rewritten = await goThrough(shift, claimed, offset);
  if (rewritten === null || !(await finish(db, claimed))) return;
  const seconds = Math.max(0, Math.round((Date.now() - claimed.entered_at.getTime()) / 1_000));
  log.info({ rewritten, seconds }, 'the bodies of the store are made for its offset');
}

/** @returns how many were rewritten in all; `null` where the store's turn is over before. */
async function goThrough(shift: Shift, claimed: Claimed, offset: string): Promise<number | null> {
  const { db, metrics, labels } = shift;
  let progress = claimed.done ?? BEGINNING;
  while (progress.collection !== null) {
    if (shift.isOver()) {
      await release(db, claimed);
      return null;
    }
    const { collection, last: after } = progress;
    const batch = { collection, storeId: claimed.store_id, after, offset };
    const next = await shift.beside(BATCH, async (documents) => {
      const result = await rewriteBatch(db, { ...batch, documents });
      if (result === null) return null;
      metrics.rewritten.inc(labels, result.rewritten);
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
