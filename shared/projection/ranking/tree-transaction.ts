/** One tree of one store, in one transaction. */
import type { ClientSession, Db } from 'mongodb';
import type { RankTree } from '../../read-models/rank-tree/trees.ts';

export interface TreeTransaction {
  db: Db;
  session: ClientSession;
  tree: RankTree;
  storeId: string;
}
