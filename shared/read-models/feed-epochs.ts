/**
 * Epochs: which process gave which of a store's positions. A position alone proves nothing: a
 * restored backup gives it again. So a process gives positions under a random epoch, which it
 * continues only from the position that it gave last. The stamp lists epochs with their first
 * positions, and a cursor names its epoch: up to the end of that epoch in the list, the cursor has
 * seen these very changes.
 */
import { randomBytes } from 'node:crypto';

export interface Epoch {
  id: string;
  from: number;
}

export const EPOCH_BYTES = 6;

/** Older ones are dropped: a cursor with an unknown epoch starts from the beginning. */
export const KEPT_EPOCHS = { max: 64 };

export function newEpoch(): string {
  return randomBytes(EPOCH_BYTES).toString('base64url');
}

/**
 * The epochs of a stamp, in order. They are one text, since every request reads the stamp and few
 * need epochs.
 */
export function epochsIn(text: string | undefined): Epoch[] {
  if (text === undefined) return [];
  return text.split(',').map((item) => {
    const [id = '', from = ''] = item.split(':');
    return { id, from: Number.parseInt(from, 36) };
  });
}

export function withEpoch(text: string | undefined, { id, from }: Epoch): string {
  const item = `${id}:${from.toString(36)}`;
  if (text === undefined) return item;
  return [...text.split(','), item].slice(-KEPT_EPOCHS.max).join(',');
}

/** The epoch of a position; `null` if none was given yet, or it was dropped. */
export function epochOf(text = '', position: number): string | null {
  // From the end: it is nearly always the last one.
  for (let end = text.length; end > 0;) {
    const begin = text.lastIndexOf(',', end - 1) + 1;
    const [id = '', from = ''] = text.slice(begin, end).split(':');
    if (Number.parseInt(from, 36) <= position) return id;
    end = begin - 1;
  }
  return null;
}

/** The last epoch; `null` if no position was given yet. */
export function presentEpoch(text: string | undefined): string | null {
  if (text === undefined) return null;
  return text.slice(text.lastIndexOf(',') + 1).split(':')[0] ?? null;
}
