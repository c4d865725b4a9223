/** Makes rank trees of this process so small that a few records suffice for several levels. */
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';

/**
 * @param leafBytes the maximum bytes of a leaf's texts; unchanged by default.
 * @returns a function that restores the limits.
 */
export function withSmallTrees(
  leafRecords: number,
  nodeParts: number,
  leafBytes?: number,
): () => void {
  const before = Object.values(RANK_TREES).map((tree) => ({ tree, sizes: { ...tree } }));
  for (const { tree } of before) {
    Object.assign(tree, { leafRecords, nodeParts }, leafBytes === undefined ? {} : { leafBytes });
  }
  return () => {
    for (const { tree, sizes } of before) Object.assign(tree, sizes);
  };
}
