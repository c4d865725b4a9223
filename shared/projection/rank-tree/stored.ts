/**
 * Reads and writes stored trees: nodes on the way to keys, records, texts of leaves; and builds
 * trees anew.
 */
import type { AnyBulkWriteOperation, Document } from 'mongodb';
import { ONE_BATCH, RANK_NODES, nodesIn, writeAll } from '../../read-models/collections.ts';
import {
  type LeafTexts,
  nodeId,
  nodesOf,
  type RankNode,
  type Root,
} from '../../read-models/rank-tree/nodes.ts';
import { LoadedTree, type TreeTransaction } from './loaded-tree.ts';
import { damageOf } from './node-shape.ts';
import { type CutLeaf, leafOf, type Part, TreeNode } from './nodes.ts';
import {
  RANKED_FIELDS,
  rankEntries,
  type RankEntry,
  type RankTree,
} from '../../read-models/rank-tree/trees.ts';
import { bytesOfTexts, SEARCH_TEXTS, type SearchTexts } from '../../read-models/search-texts.ts';
import { inBatches } from '../../waiting.ts';
import { boundaryBetween } from '../../read-models/rank-tree/keys.ts';

/** The most nodes of one command: their `_id`s hold names, and a command has at most 16 MiB. */
const MAX_NAMED = 2_000;

/**
 * Loads the nodes on the way to keys, level by level.
 * @param cached the part in memory. @returns `null` if a node is missing or cannot be read.
 */
export async function loadTree(
  transaction: TreeTransaction,
  { leaves, levels, version }: Root,
  keys: ReadonlySet<string>,
  cached: LoadedTree | null,
): Promise<LoadedTree | null> {
  const { tree, storeId } = transaction;
  if (leaves === undefined || levels === undefined || version === undefined) return null;
  let loaded = cached;
  if (loaded === null) {
    const [top] = await readNodes(transaction, [nodeId(tree.name, storeId, levels - 1, '')]);
    if (top === undefined || damageOf(top) !== null) return null;
    loaded = new LoadedTree(TreeNode.ofStored(levels - 1, top), leaves);
  }
  for (;;) {
    const wanted = new Map<string, { level: number; part: Part }>();
    for (const key of keys) {
      const missing = loaded.missingFor(key);
      if (missing !== null)
        wanted.set(nodeId(tree.name, storeId, missing.level, missing.part.boundary), missing);
    }
    if (wanted.size === 0) return loaded;
    const found = await readNodes(transaction, [...wanted.keys()]);
    if (found.length < wanted.size || found.some((node) => damageOf(node) !== null)) return null;
    for (const node of found) {
      const place = wanted.get(node._id);
      if (place !== undefined) place.part.below = TreeNode.ofStored(place.level, node);
    }
  }
}

async function readNodes(
  { db, session, storeId }: TreeTransaction,
  ids: string[],
): Promise<RankNode[]> {
  const found: RankNode[] = [];
  for await (const part of inBatches(ids, MAX_NAMED)) {
    const nodes = nodesIn(db).find(
      { store_id: storeId, _id: { $in: part } },
      { session, batchSize: ONE_BATCH },
    );
    found.push(...(await nodes.toArray()));
  }
  return found;
}

/**
 * The records of a tree in order, or those of a range of keys; `to` is `null` for the tree's end.
 */
export async function* readRecords(
  { db, session, tree, storeId }: TreeTransaction,
  from = '',
  to: string | null = null,
): AsyncGenerator<RankEntry> {
  const range = { $gte: from, ...(to !== null && { $lt: to }) };
  const options = {
    session,
    projection: { _id: 0, ...RANKED_FIELDS },
    sort: { [tree.keyField]: 1 },
    hint: tree.keyIndex,
    batchSize: 5_000,
  } as const;
  const documents = db
    .collection(tree.collection)
    .find({ store_id: storeId, [tree.keyField]: range }, options);
  for await (const document of documents) {
    for (const entry of rankEntries(tree.entity, document))
      if (entry.tree === tree.name) yield entry;
  }
}

export type TextOperations = AnyBulkWriteOperation<LeafTexts>[];

type TreePlace = Pick<TreeTransaction, 'tree' | 'storeId'>;

/** The records that are added to a leaf and removed from it. */
export interface Share {
  added: RankEntry[];
  removed: RankEntry[];
}

export function changeTexts(
  { tree, storeId }: TreePlace,
  boundary: string,
  { added, removed }: Share,
): TextOperations[number] {
  const pieces = (entries: readonly RankEntry[], name: keyof SearchTexts) =>
    entries.map(({ texts }) => texts?.[name] ?? '').filter((piece) => piece !== '');
  const texts = SEARCH_TEXTS.map((name) => [
    `texts.${name}`,
    changedText(`$texts.${name}`, pieces(added, name), pieces(removed, name)),
  ]);
  const total = { $add: ['$total', added.length - removed.length] };
  return {
    updateOne: {
      filter: { _id: nodeId(tree.name, storeId, 'leaf', boundary) },
      update: [{ $set: { total, ...Object.fromEntries(texts) } }],
    },
  };
}

/** A text with pieces removed and added. Of equal pieces any may go. */
function changedText(
  field: string,
  added: readonly string[],
  removed: readonly string[],
): Document | string {
  let text: Document | string = field;
  for (const piece of removed) {
    text = { $replaceOne: { input: text, find: { $literal: piece }, replacement: '' } };
  }
  return added.length === 0 ? text : { $concat: [text, { $literal: added.join('') }] };
}

/** Writes a leaf's texts anew; nothing in a tree that is not searched. */
export function replaceTexts(
  { tree, storeId }: TreePlace,
  { boundary, total, texts }: CutLeaf,
): TextOperations[number] | [] {
  if (texts === undefined) return [];
  const _id = nodeId(tree.name, storeId, 'leaf', boundary);
  return {
    replaceOne: { filter: { _id }, replacement: { store_id: storeId, total, texts }, upsert: true },
  };
}

export function removeTexts(
  { tree, storeId }: TreePlace,
  boundary: string,
): TextOperations[number] {
  return { deleteOne: { filter: { _id: nodeId(tree.name, storeId, 'leaf', boundary) } } };
}

/** How full new leaves are, so that none is cut again soon. */
const FILL = 0.75;
const LEAVES_A_WRITE = 500;

/**
 * Removes the stored tree, and builds one of all records. @returns the tree, whose nodes are not
 * written yet; the texts of its leaves are. It has one leaf if there are no records.
 */
export async function buildTree(transaction: TreeTransaction): Promise<LoadedTree> {
  const { db, session, tree, storeId } = transaction;
  await nodesIn(db).deleteMany(nodesOf(tree.name, storeId), { session });
  const stored = db.collection<LeafTexts>(RANK_NODES);
  const leaves: Part[] = [];
  for await (const batch of inBatches(leavesOf(tree, readRecords(transaction)), LEAVES_A_WRITE)) {
    const texts = batch.flatMap((leaf) => replaceTexts(transaction, leaf));
    await writeAll(stored, texts, session);
    for (const { texts: _written, ...leaf } of batch) leaves.push(leaf);
  }
  return LoadedTree.of(tree, leaves);
}

async function* leavesOf(
  tree: RankTree,
  records: AsyncIterable<RankEntry>,
): AsyncGenerator<CutLeaf> {
  const size = Math.max(1, Math.floor(tree.leafRecords * FILL));
  let part: RankEntry[] = [];
  let bytes = 0;
  let boundary = '';
  for await (const record of records) {
    const last = part.at(-1);
    const more = record.texts === undefined ? 0 : bytesOfTexts(record.texts);
    if (last !== undefined && (part.length >= size || bytes + more > tree.leafBytes * FILL)) {
      yield leafOf(tree, boundary, part);
      boundary = boundaryBetween(last.key, record.key);
      part = [];
      bytes = 0;
    }
    part.push(record);
    bytes += more;
  }
  if (part.length > 0 || boundary === '') yield leafOf(tree, boundary, part);
}
