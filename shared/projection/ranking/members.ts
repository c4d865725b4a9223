/** The records that a tree covers, read for cutting and for counting. */
import { type RankEntry, rankEntries, RANKED_FIELDS } from '../../read-models/rank-tree/trees.ts';
import type { TreeTransaction } from './tree-transaction.ts';

/** All in one round trip. */
const ONE_BATCH = 100_000;
const SCANNED_A_BATCH = 5_000;

/** The records of a range of keys, in order; `to` is `null` for the tree's end. */
export async function readRecords(
  { db, session, tree, storeId }: TreeTransaction,
  from: string,
  to: string | null,
): Promise<RankEntry[]> {
  const range = { $gte: from, ...(to === null ? {} : { $lt: to }) };
  const documents = await db
    .collection(tree.collection)
    .find(
      { store_id: storeId, [tree.keyField]: range },
      {
        session,
        projection: { _id: 0, ...RANKED_FIELDS },
        sort: { [tree.keyField]: 1 },
        hint: tree.keyIndex,
        batchSize: ONE_BATCH,
      },
    )
    .toArray();
  return documents.flatMap((document) =>
    rankEntries(tree.entity, document).filter((entry) => entry.tree === tree.name),
  );
}

/** All records of a tree, one after the other in order. */
export async function* scanRecords({
  db,
  session,
  tree,
  storeId,
}: TreeTransaction): AsyncGenerator<RankEntry> {
  const documents = db.collection(tree.collection).find(
    { store_id: storeId },
    {
      session,
      projection: { _id: 0, ...RANKED_FIELDS },
      sort: { [tree.keyField]: 1 },
      hint: tree.keyIndex,
      batchSize: SCANNED_A_BATCH,
    },
  );
  for await (const document of documents) {
    for (const entry of rankEntries(tree.entity, document)) if (entry.tree === tree.name) yield entry;
  }
}
