/** Makes rank trees of this process so small that a handful of records has leaves and several levels of nodes. */
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';

/**
 * @param leafBytes of the texts of a leaf; as many as always when absent.
 * @returns what makes them as they were.
 */
export function withSmallTrees(leafRecords: number, nodeParts: number, leafBytes?: number): () => void {
  const before = Object.values(RANK_TREES).map((tree) => ({ tree, sizes: { ...tree } }));
  for (const { tree } of before) {
    Object.assign(tree, { leafRecords, nodeParts }, leafBytes === undefined ? {} : { leafBytes });
  }
  return () => {
    for (const { tree, sizes } of before) Object.assign(tree, sizes);
  };
}
