/** Lets slices and pieces of this process erase hardly anything at once, so that a handful of orders has erasures under way. */
import { MAX_PIECE } from '#shared/projection/erasure/pieces.ts';
import { MAX_SLICE } from '#shared/projection/erasure/erase.ts';

/** @returns what makes them as they were. */
export function withSmallErasures(): () => void {
  const before = [MAX_SLICE, MAX_PIECE].map((sizes) => ({ sizes, are: { ...sizes } }));
  for (const { sizes } of before) Object.assign(sizes, { documents: 1, letters: 1 });
  return () => {
    for (const { sizes, are } of before) Object.assign(sizes, are);
  };
}
