/** How many dead letters a selection has, by reason. */
import { letterFilter, type LetterSelection } from './selection.ts';
import type { LetterBox } from './boxes.ts';

export interface LetterCount {
  letters: number;
  /** Messages: one letter may stand for a batch. */
  total: number;
  byReason: Record<string, number>;
}

/** Counts letters in some boxes. */
export async function countLetters(
  boxes: readonly LetterBox[],
  selection: LetterSelection,
): Promise<LetterCount> {
  const byReason: Record<string, number> = {};
  let total = 0;
  let letters = 0;
  for (const box of boxes) {
    const groups = await box.letters
      .aggregate<{ _id: string; count: number; letters: number }>([
        { $match: letterFilter(box, selection) },
        {
          $group: {
            _id: '$reason',
            count: { $sum: { $ifNull: ['$gathered.count', 1] } },
            letters: { $sum: 1 },
          },
        },
        { $sort: { _id: 1 } },
      ])
      .toArray();
    for (const { _id, count, letters: found } of groups) {
      byReason[_id] = (byReason[_id] ?? 0) + count;
      total += count;
      letters += found;
    }
  }
  return { letters, total, byReason };
}

/** `3 dead letters (2 malformed, 1 too_large)` */
export function describeCount({ total, byReason }: LetterCount): string {
  if (total === 0) return 'no dead letters';
  const reasons = Object.entries(byReason).map(([reason, count]) => `${count} ${reason}`);
  return `${total} dead letter${total === 1 ? '' : 's'} (${reasons.join(', ')})`;
}
