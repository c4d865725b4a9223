/**
 * Where a read of the change feed starts. Positions mean the same only within one generation, and there as far as the cursor's
 * epoch goes: what lies behind its end was rolled back when the database was restored. Whatever is not proven to be told is told
 * again, and where nothing is proven, all of it, with every deletion that is known.
 */
import type { Stamp } from '#shared/read-models/collections.ts';
import { epochsIn } from '#shared/read-models/feed-epochs.ts';
import type { Cursor } from './cursor.ts';

export interface Start {
  /** Changes after this position are told. */
  told: number;
  /** Deletions up to this position are not told. */
  deletionsFrom: number;
}

const EVERYTHING: Start = { told: 0, deletionsFrom: 0 };

/** Where to start if the cursor is still right, which only a stamp can tell; `Infinity` is wherever the store stands now. */
export function startByCursor(cursor: Cursor | null, generation: string): Start {
  if (cursor === null) return { told: 0, deletionsFrom: Infinity };
  if (cursor.generation !== generation) return EVERYTHING;
  return { told: cursor.told, deletionsFrom: cursor.deletionsFrom };
}

/** Where to start according to the stamp of the snapshot that is read. */
export function startAt(cursor: Cursor | null, generation: string, stamp: Stamp | null): Start {
  const byCursor = startByCursor(cursor, generation);
  if (cursor === null || cursor.generation !== generation || cursor.epoch === null) return byCursor;
  const epochs = epochsIn(stamp?.epochs);
  const at = epochs.findIndex(({ id }) => id === cursor.epoch);
  if (at === -1) return EVERYTHING;
  const following = epochs[at + 1];
  const end = following === undefined ? (stamp?.position ?? 0) : following.from - 1;
  if (cursor.seen <= end) return byCursor;
  return { told: Math.min(cursor.told, end), deletionsFrom: Math.min(cursor.deletionsFrom, end) };
}
