/** How far one store is: its collections are gone through in their order, the documents of each by `_id`. */
import { COLLECTIONS_WITH_BODIES } from '../../read-models/bodies.ts';
import type { BatchResult } from './batch.ts';

export interface Progress {
  /** The collection that comes next; `null` after the last. */
  collection: string | null;
  /** The last of its documents that was looked at; empty before the first. */
  last: string;
  /** How many of its documents were looked at. */
  looked: number;
  /** How many of all collections were rewritten. */
  rewritten: number;
}

/** Where every store begins. */
export const BEGINNING: Progress = { ...beginningOf(0), rewritten: 0 };

/** The progress after a batch. */
export function afterBatch(
  progress: Progress,
  { looked, rewritten: more, last, missed }: BatchResult,
): Progress {
  const rewritten = progress.rewritten + more;
  if (missed > 0) return { ...progress, rewritten };
  if (last !== null) return { ...progress, last, looked: progress.looked + looked, rewritten };
  const place = COLLECTIONS_WITH_BODIES.indexOf(progress.collection ?? '');
  return { ...beginningOf(place + 1), rewritten };
}

function beginningOf(place: number): Omit<Progress, 'rewritten'> {
  return { collection: COLLECTIONS_WITH_BODIES[place] ?? null, last: '', looked: 0 };
}
