/**
 * Counts the changes of a slice in rank trees, and cuts leaves and nodes that outgrow their bounds,
 * after the documents are written.
 */
import { RANK_NODES, type Stamp, writeAll } from '../../read-models/collections.ts';
import type { RankNode, Root, LeafTexts, TreeName } from '../../read-models/rank-tree/nodes.ts';
import {
  type LoadedTree,
  type LeafPlace,
  type TreeChange,
  type TreeTransaction,
  nextVersion,
  type TreeCache,
  type TreeChanges,
} from './loaded-tree.ts';
import {
  changeTexts,
  loadTree,
  buildTree,
  readRecords,
  removeTexts,
  replaceTexts,
  type Share,
  type TextOperations,
} from './stored.ts';
import { getOrInsert } from '../../maps.ts';
import { splitPrepended, cutLeaves, type Part, type TreeNode } from './nodes.ts';
import { boundaryBetween, compareKeys } from '../../read-models/rank-tree/keys.ts';
import { type RankEntry, type RankTree, RANK_TREES } from '../../read-models/rank-tree/trees.ts';
import type { AnyBulkWriteOperation, ClientSession, Db } from 'mongodb';

/**
 * @param texts gets the writes of leaves' texts.
 * @returns `null` while it has too few records for leaves.
 */
async function changeTree(
  transaction: TreeTransaction,
  change: TreeChange,
  root: Root,
  texts: TextOperations,
  cached: LoadedTree | null,
): Promise<LoadedTree | null> {
  const { tree } = transaction;
  if (root.leaves === undefined) {
    const before = Object.values(root.counts ?? {}).reduce((sum, count) => sum + count, 0);
    if (before + change.added.length - change.removed.length <= tree.leafRecords) return null;
    return buildTree(transaction);
  }
  const keys = new Set([...change.added, ...change.removed].map(({ key }) => key));
  const loaded = await loadTree(transaction, root, keys, cached);
  if (loaded === null) return buildTree(transaction);

  for (const place of countIn(loaded, change))
    loaded.leaves += await changeLeaves(transaction, place, texts);
  loaded.divideCrowded(tree);
  return loaded;
}

/** Adds up what comes and goes, all the way down to the leaves. */
function countIn(loaded: LoadedTree, { added, removed }: TreeChange): Touched[] {
  const touched = new Map<TreeNode, Touched>();
  const shareOf = (place: LeafPlace | null): Share | null => {
    if (place === null) return null;
    const { node, leaf, end } = place;
    const { shares } = getOrInsert(touched, node, () => ({ node, end, shares: new Map() }));
    return getOrInsert(shares, leaf, () => ({ added: [], removed: [] }));
  };
  for (const entry of added) shareOf(loaded.count(entry, 1))?.added.push(entry);
  for (const entry of removed) shareOf(loaded.count(entry, -1))?.removed.push(entry);
  return [...touched.values()];
}

/** The changes of leaves in one node of level 0. */
interface Touched {
  node: TreeNode;
  /** Where the node ends; `null` for the tree's end. */
  end: string | null;
  shares: Map<Part, Share>;
}

/**
 * Whether a leaf's boundary may be the beginning of removed keys alone: no part of a deleted
 * customer's name may stay.
 */
function isNamed({ boundary }: Part, { added, removed }: Share): boolean {
  const begins = ({ key }: RankEntry) => key.startsWith(boundary);
  return boundary !== '' && removed.some(begins) && !added.some(begins);
}

/** Whether a leaf outgrew its bounds. A single record cannot be cut. */
function isTooLarge({ leafRecords, leafBytes }: RankTree, { total, bytes = 0 }: Part): boolean {
  return total > leafRecords || (bytes > leafBytes && total > 1);
}

/** An update that removes more pieces of text than this would be nested too deep. */
const MAX_REMOVED = 20;

/**
 * Changes the leaves of one node, whose counts are up to date.
 * @returns how many leaves it has more.
 */
async function changeLeaves(
  transaction: TreeTransaction,
  { node, end, shares }: Touched,
  texts: TextOperations,
) {
  const { tree } = transaction;
  const cuts: [first: number, last: number][] = [];
  for (const [index, part] of node.parts.entries()) {
    const share = shares.get(part);
    if (share === undefined) continue;
    // The leaf before a node's first one lies in another node, and stays.
    if (tree.searched && isNamed(part, share)) addCut(cuts, Math.max(index - 1, 0), index);
    else if (isTooLarge(tree, part) || (tree.searched && share.removed.length > MAX_REMOVED)) {
      addCut(cuts, index, index);
    }
  }
  for (const [index, part] of node.parts.entries()) {
    const share = shares.get(part);
    if (share === undefined || cuts.some(([first, last]) => first <= index && index <= last))
      continue;
    lower(part, share);
    if (tree.searched) texts.push(changeTexts(transaction, part.boundary, share));
  }
  const before = node.parts.length;
  // From the back, so that the indexes before stay valid.
  for (const [first, last] of cuts.toReversed()) {
    const leaf = node.parts[first];
    const share = leaf === undefined || last > first ? undefined : shares.get(leaf);
    const added = share?.added.toSorted((a, b) => compareKeys(a.key, b.key)) ?? [];
    const leaves = leaf === undefined ? null : splitPrepended(tree, leaf, added);
    if (leaves === null) await cutAnew(transaction, node, end, [first, last], texts);
    else node.parts.splice(first, 1, ...leaves);
  }
  return node.parts.length - before;
}

/** Adds a range of leaves to those that are cut; ranges that meet become one. */
function addCut(cuts: [first: number, last: number][], first: number, last: number): void {
  const before = cuts.at(-1);
  if (before !== undefined && before[1] >= first) before[1] = last;
  else cuts.push([first, last]);
}

/** Notes that records with lower keys have come to a leaf. */
function lower(leaf: Part, { added }: Share): void {
  for (const { key } of added) {
    if (leaf.lowest !== undefined && compareKeys(key, leaf.lowest) < 0) leaf.lowest = key;
  }
}

async function cutAnew(
  transaction: TreeTransaction,
  node: TreeNode,
  end: string | null,
  [first, last]: [first: number, last: number],
  texts: TextOperations,
): Promise<void> {
  const from = node.parts[first]?.boundary ?? '';
  const to = node.parts[last + 1]?.boundary ?? end;
  const records = await Array.fromAsync(readRecords(transaction, from, to));
  const start = transaction.tree.searched ? remainingBoundary(from, records) : from;
  const leaves = start === null ? [] : cutLeaves(transaction.tree, start, records);
  const kept = new Set(leaves.map(({ boundary }) => boundary));
  // Texts are stored, and not kept in memory.
  const parts = leaves.map(({ texts: _stored, ...part }): Part => part);
  const former = node.parts.splice(first, last - first + 1, ...parts);
  if (!transaction.tree.searched) return;
  for (const { boundary } of former)
    if (!kept.has(boundary)) texts.push(removeTexts(transaction, boundary));
  texts.push(...leaves.flatMap((leaf) => replaceTexts(transaction, leaf)));
}

/**
 * Where leaves begin that show no removed name: at the beginning of a present key. `null` where
 * there are no records.
 */
function remainingBoundary(from: string, [lowest]: readonly RankEntry[]): string | null {
  if (from === '' || lowest?.key.startsWith(from) === true) return from;
  return lowest === undefined ? null : boundaryBetween(from, lowest.key);
}

/** How a root changes: counts by how much, the rest to what. */
export interface RootChange {
  tree: TreeName;
  storeId: string;
  counts: Record<string, number>;
  nodes?: Required<Pick<Root, 'leaves' | 'levels' | 'version'>>;
}

/**
 * @param stamps as they were before the slice.
 * @returns how their roots change, which the stamps' writer adds to them.
 */
export async function maintainTrees(
  db: Db,
  session: ClientSession,
  changes: TreeChanges,
  stamps: ReadonlyMap<string, Stamp>,
  cache: TreeCache,
): Promise<RootChange[]> {
  const roots: RootChange[] = [];
  const nodes: RankNode[] = [];
  const obsolete: string[] = [];
  const texts: TextOperations = [];
  for (const change of changes.values()) {
    const { tree, storeId } = change;
    const transaction: TreeTransaction = { db, session, tree: RANK_TREES[tree], storeId };
    const root = stamps.get(storeId)?.ranks?.[tree] ?? {};
    const loaded = await changeTree(
      transaction,
      change,
      root,
      texts,
      cache.take(transaction, root.version),
    );
    const rootChange = { tree, storeId, counts: countsOf(change) };
    if (loaded === null) {
      roots.push(rootChange);
      continue;
    }
    nodes.push(...loaded.takeChanged(transaction.tree, storeId));
    obsolete.push(...loaded.takeObsolete(transaction.tree, storeId));
    const version = nextVersion();
    roots.push({ ...rootChange, nodes: { leaves: loaded.leaves, levels: loaded.levels, version } });
    cache.put(transaction, version, loaded);
  }
  // Unlike documents, few nodes are cheaper to replace than to remove and insert (decision 0028).
  const operations = nodes.map(
    ({ _id, ...replacement }): AnyBulkWriteOperation<RankNode | LeafTexts> => ({
      replaceOne: { filter: { _id }, replacement, upsert: true },
    }),
  );
  operations.push(...obsolete.map((_id) => ({ deleteOne: { filter: { _id } } })));
  operations.push(...(texts as AnyBulkWriteOperation<RankNode | LeafTexts>[]));
  await writeAll(db.collection<RankNode | LeafTexts>(RANK_NODES), operations, session);
  return roots;
}

/** By how much the counts of facets change, without zeros. */
function countsOf({ added, removed }: TreeChange): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { facet } of added) counts[facet] = (counts[facet] ?? 0) + 1;
  for (const { facet } of removed) counts[facet] = (counts[facet] ?? 0) - 1;
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}
