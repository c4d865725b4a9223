/** What records cost on disk, for each of them: documents, indexes, and the nodes of rank trees. */
import type { Db } from 'mongodb';
import { COLLECTIONS, RANK_NODES } from '#shared/read-models/collections.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { rounded } from '../../median.ts';
import type { Bytes, Footprint } from './result.ts';

interface CollectionStats {
  count: number;
  storageSize: number;
  indexSizes: Record<string, number>;
}

/** Of orders, customers and reviews, as far as there are any. */
export async function measureFootprints(readModels: Db, usualWay: Db): Promise<Footprint[]> {
  // Sizes are those of files, which follow with each checkpoint of the server.
  await readModels.admin().command({ fsync: 1 });
  const nodes = await nodeBytes(readModels);
  const footprints: Footprint[] = [];
  for (const entity of ['order', 'customer', 'review'] as const) {
    const name = COLLECTIONS[entity];
    const stats = await statsOf(readModels, name);
    const usual = await statsOf(usualWay, name);
    if (stats.count === 0 || usual.count === 0) continue;
    const ofTrees = Object.values(RANK_TREES).filter((tree) => tree.entity === entity);
    const ofNodes = ofTrees.reduce((sum, { name: tree }) => sum + (nodes.get(tree) ?? 0), 0);
    footprints.push({
      entity,
      records: stats.count,
      ours: { ...perRecord(stats), nodes: rounded(ofNodes / stats.count, 1) },
      usual_way: perRecord(usual),
    });
  }
  return footprints;
}

function perRecord({ count, storageSize, indexSizes }: CollectionStats): Bytes {
  const each = (bytes: number) => rounded(bytes / count, 1);
  return {
    documents: each(storageSize),
    indexes: Object.fromEntries(Object.entries(indexSizes).map(([name, bytes]) => [name, each(bytes)])),
  };
}

/** Bytes on disk of the nodes of each tree: the collection's, with its index, shared out by the size of the nodes in memory. */
async function nodeBytes(readModels: Db): Promise<Map<string, number>> {
  const { storageSize, indexSizes } = await statsOf(readModels, RANK_NODES);
  const onDisk = Object.values(indexSizes).reduce((sum, bytes) => sum + bytes, storageSize);
  const trees = await readModels
    .collection(RANK_NODES)
    .aggregate<{ _id: string; bytes: number }>([
      { $group: { _id: { $first: { $split: ['$_id', '/'] } }, bytes: { $sum: { $bsonSize: '$$ROOT' } } } },
    ])
    .toArray();
  const inMemory = trees.reduce((sum, { bytes }) => sum + bytes, 0);
  return new Map(trees.map(({ _id, bytes }) => [_id, (onDisk * bytes) / inMemory]));
}

async function statsOf(db: Db, collection: string): Promise<CollectionStats> {
  return (await db.command({ collStats: collection })) as CollectionStats;
}
