/** Damages a stored node of a rank tree. */
import type { Collection } from 'mongodb';
import { type RankNode, packCounts, unpackCounts } from '#shared/read-models/rank-tree/nodes.ts';

/** Adds one to the count of a facet in a node's first part. @throws if there is no such node. */
export async function miscount(nodes: Collection<RankNode>, id: RegExp): Promise<void> {
  const node = await nodes.findOne({ _id: id });
  const parts = node === null ? [] : unpackCounts({ ...node, counts: node.counts.buffer });
  const [first] = parts;
  const facet = node?.facets[0];
  if (node === null || first === undefined || facet === undefined)
    throw new Error(`no node ${String(id)}`);
  first.counts[facet] = (first.counts[facet] ?? 0) + 1;
  await nodes.updateOne({ _id: node._id }, { $set: packCounts(parts) });
}
