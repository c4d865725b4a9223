/** Makes erasures of this process so small that a few orders suffice for one in several pieces. */
import { MAX_PIECE } from '#shared/projection/erasure/pieces.ts';
import { MAX_SLICE } from '#shared/projection/erasure/erase.ts';

/** @returns a function that restores the limits. */
export function withSmallErasures(): () => void {
  const before = [MAX_SLICE, MAX_PIECE].map((sizes) => ({ sizes, are: { ...sizes } }));
  for (const { sizes } of before) Object.assign(sizes, { documents: 1, letters: 1 });
  return () => {
    for (const { sizes, are } of before) Object.assign(sizes, are);
  };
}
