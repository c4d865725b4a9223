/** Lets slices and pieces of this process erase hardly anything at once, so that a handful of orders has erasures under way. */
import { ERASED_BY_PIECE } from '#shared/projection/erasing/piece.ts';
import { ERASED_BY_SLICE } from '#shared/projection/erasing/slice.ts';

/** @returns what makes them as they were. */
export function withSmallErasures(): () => void {
  const before = [ERASED_BY_SLICE, ERASED_BY_PIECE].map((sizes) => ({ sizes, are: { ...sizes } }));
  for (const { sizes } of before) Object.assign(sizes, { documents: 1, letters: 1 });
  return () => {
    for (const { sizes, are } of before) Object.assign(sizes, are);
  };
}
