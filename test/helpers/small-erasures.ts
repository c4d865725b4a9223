/** Makes erasures of this process so small that a few orders suffice for one in several pieces. */
import { MAX_PIECE } from '#shared/projection/erasure/pieces.ts';
import { MAX_SLICE } from '#shared/projection/erasure/erase.ts';

/**
 * @param most the documents, and the letters, that a slice or a piece erases.
 * @returns a function that restores the limits.
 */
export function withSmallErasures(most = 1): () => void {
  const before = [MAX_SLICE, MAX_PIECE].map((sizes) => ({ sizes, are: { ...sizes } }));
  for (const { sizes } of before) Object.assign(sizes, { documents: most, letters: most });
  return () => {
    for (const { sizes, are } of before) Object.assign(sizes, are);
  };
}
