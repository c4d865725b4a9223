/** What an order takes on disk: its document, its indexes, and the nodes of rank trees. */
import type { Db } from 'mongodb';
import { COLLECTIONS, RANK_NODES } from '#shared/read-models/collections.ts';
import { rounded } from '../median.ts';

/** Bytes for each record. */
export interface Footprint {
  document: number;
  indexes: Record<string, number>;
  nodes: number;
}

interface CollectionStats {
  count: number;
  storageSize: number;
  indexSizes: Record<string, number>;
}

export async function footprintOf(db: Db): Promise<Footprint> {
  // Sizes are those of files, which follow with each checkpoint of the server.
  await db.admin().command({ fsync: 1 });
  const orders = await statsOf(db, COLLECTIONS.order);
  const nodes = await statsOf(db, RANK_NODES);
  const each = (bytes: number) => rounded(bytes / orders.count, 1);
  return {
    document: each(orders.storageSize),
    indexes: Object.fromEntries(Object.entries(orders.indexSizes).map(([name, size]) => [name, each(size)])),
    nodes: each(Object.values(nodes.indexSizes).reduce((sum, size) => sum + size, nodes.storageSize)),
  };
}

async function statsOf(db: Db, collection: string): Promise<CollectionStats> {
  return (await db.command({ collStats: collection })) as CollectionStats;
}
