/**
 * Verifies one tree: reads its records in order, leaf by leaf, and compares each part of each node
 * with its records.
 */
import { hash } from 'node:crypto';
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp, nodesIn } from '../../read-models/collections.ts';
import { compareKeys } from '../../read-models/rank-tree/keys.ts';
import {
  nodesOf,
  ofLevel,
  type Counts,
  type LeafTexts,
  levelPrefix,
  type Root,
} from '../../read-models/rank-tree/nodes.ts';
import type { RankEntry } from '../../read-models/rank-tree/trees.ts';
import { SEARCH_TEXTS } from '../../read-models/search-texts.ts';
import { readRecords } from '../rank-tree/stored.ts';
import { damageOf, damageOfRoot, damageOfTexts, deviationOf } from '../rank-tree/node-shape.ts';
import { addUpParts, leafOf, TreeNode } from '../rank-tree/nodes.ts';
import type { TreeTransaction } from '../rank-tree/loaded-tree.ts';

export type Compare = (what: string, stored: string | number, counted: string | number) => void;

export async function verifyTree(
  transaction: TreeTransaction,
  stamp: Stamp | null,
  compare: Compare,
): Promise<void> {
  const root: unknown = stamp?.ranks?.[transaction.tree.name];
  const damage = root === undefined ? null : damageOfRoot(root);
  if (damage !== null) {
    compare('the root', damage, 'a root');
    return;
  }
  const { leaves = 0, levels = 0, counts = {} } = (root ?? {}) as Root;
  compare('nodes of levels that it does not have', await countOrphans(transaction, levels), 0);
  const stored: StoredLevel[] = [];
  for (let level = 0; level < levels; level += 1) stored.push(await readLevel(transaction, level));
  for (const [level, { damages }] of stored.entries()) {
    for (const found of damages) compare(`a node of level ${level}`, found, 'a node');
  }
  if (stored.some(({ isIncomplete }) => isIncomplete)) return;
  const [lowest = emptyLevel()] = stored;
  const { all, inLeaves } = await countInLeaves(transaction, lowest, compare);
  compare('counts of the root', inWords(counts), inWords(all.counts));
  compare('number of leaves', leaves, lowest.parts.length);
  if (levels === 0) {
    compare('records without leaves', Math.min(all.total, transaction.tree.leafRecords), all.total);
    return;
  }
  let below = lowest;
  let counted = sumsOf(below, inLeaves);
  for (const [index, above] of stored.slice(1).entries()) {
    const level = index + 1;
    compareBoundaries(`level ${level}`, above, below, compare);
    for (const [at, part] of above.parts.entries())
      compareCounts(`part ${at} of level ${level}`, part, counted[at], compare);
    counted = sumsOf(above, counted);
    below = above;
  }
  compare('number of uppermost nodes', below.nodes.length, 1);
}

/**
 * Reads the records leaf by leaf, and compares each leaf with the one that would be made of them.
 */
async function countInLeaves(
  transaction: TreeTransaction,
  { parts }: StoredLevel,
  compare: Compare,
) {
  const { tree, storeId } = transaction;
  const inLeaves: Counts[] = [];
  const texts = tree.searched && parts.length > 0 ? readTexts(transaction) : null;
  let before = addUpParts([]);
  let records: RankEntry[] = [];
  const leave = async () => {
    const index = inLeaves.length;
    const leaf = parts[index];
    const { texts: counted, bytes = 0, ...rest } = leafOf(tree, '', records);
    const { total, counts } = addUpParts([before, rest]);
    if (leaf !== undefined) compareCounts(`leaf ${index}`, leaf, { total, counts }, compare);
    if (texts !== null) {
      const found = (await texts.next()).value ?? null;
      const isThere = String(found?.boundary === leaf?.boundary);
      compare(`whether texts of leaf ${index} begin where it does`, isThere, 'true');
      compare(`bytes of texts of leaf ${index}`, leaf?.bytes ?? 0, bytes);
      const damage = found === null ? 'missing' : damageOfTexts(found.stored);
      compare(`texts of leaf ${index}`, damage ?? 'texts', 'texts');
      if (found !== null && damage === null) {
        compare(
          `store of texts of leaf ${index}`,
          String(found.stored.store_id === storeId),
          'true',
        );
        compare(`records of texts of leaf ${index}`, found.stored.total, total);
        for (const name of SEARCH_TEXTS) {
          const stored = fingerprintOf(found.stored.texts[name]);
          compare(`${name} of leaf ${index}`, stored, fingerprintOf(counted?.[name] ?? ''));
        }
      }
    }
    inLeaves.push({ total, counts });
    before = addUpParts([]);
    records = [];
  };
  const isBehind = ({ key }: RankEntry) => {
    const next = parts[inLeaves.length + 1];
    return next !== undefined && compareKeys(key, next.boundary) >= 0;
  };
  for await (const record of readRecords(transaction)) {
    while (isBehind(record)) await leave();
    records.push(record);
    if (records.length < RECORDS_AT_ONCE || tree.searched) continue;
    // In a damaged tree one leaf may cover very many records.
    before = addUpParts([before, leafOf(tree, '', records)]);
    records = [];
  }
  do await leave();
  while (inLeaves.length < parts.length);
  if (texts !== null)
    compare('texts of leaves that are none', (await Array.fromAsync(texts, () => 1)).length, 0);
  return { all: addUpParts(inLeaves), inLeaves };
}

const RECORDS_AT_ONCE = 1_000;

function compareCounts(
  what: string,
  stored: Counts,
  { total, counts }: Counts = { total: 0, counts: {} },
  compare: Compare,
): void {
  compare(`total of ${what}`, stored.total, total);
  compare(`counts of ${what}`, inWords(stored.counts), inWords(counts));
}

/** Counts by facet as text; zeros do not matter. */
function inWords(counts: Record<string, number>): string {
  return Object.entries(counts)
    .filter(([, count]) => count !== 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([facet, count]) => `${facet} ${count}`)
    .join(', ');
}

/** A digest of a text's pieces in any order: the pieces themselves are personal data. */
function fingerprintOf(text: string): string {
  const pieces = text
    .split('\0\0')
    .map((piece) => hash('sha256', piece.replaceAll(/^\0|\0$/g, '')));
  const digest = hash('sha256', pieces.toSorted().join('')).slice(0, 12);
  return `${pieces.length} pieces of ${text.length} characters, ${digest}`;
}

/** Each part must begin where its node does. Boundaries may be names and are not reported. */
function compareBoundaries(
  what: string,
  above: StoredLevel,
  below: StoredLevel,
  compare: Compare,
): void {
  compare(`number of parts of ${what}`, above.parts.length, below.nodes.length);
  const wrong = below.nodes.filter(
    ({ boundary }, index) => above.parts[index]?.boundary !== boundary,
  );
  compare(`parts of ${what} that begin elsewhere than their nodes`, wrong.length, 0);
}

/** The counts of a level's nodes, from those of their parts. */
function sumsOf({ nodes }: StoredLevel, counted: readonly Counts[]): Counts[] {
  let start = 0;
  return nodes.map(({ length }) => addUpParts(counted.slice(start, (start += length))));
}

type StoredLevel = ReturnType<typeof emptyLevel>;

function emptyLevel() {
  return {
    /** The parts of all its nodes. */
    parts: [] as (Counts & { boundary: string; bytes?: number })[],
    /** Where each node begins by its `_id`, and how many parts it has. */
    nodes: [] as { boundary: string; length: number }[],
    /** How nodes differ from those that would be written. */
    damages: [] as string[],
    /** Whether a node cannot be read: then the level's counts are unknown. */
    isIncomplete: false,
  };
}

async function readLevel({ db, session, tree, storeId }: TreeTransaction, level: number) {
  const found = emptyLevel();
  const { length: prefix } = levelPrefix(tree.name, storeId, level);
  const stored = nodesIn(db).find(ofLevel(tree.name, storeId, level), {
    session,
    sort: { _id: 1 },
  });
  for await (const node of stored) {
    const boundary = node._id.slice(prefix);
    const damage = damageOf(node);
    const wrong = damage ?? deviationOf(node, storeId, boundary, tree.searched && level === 0);
    if (wrong !== null) found.damages.push(wrong);
    if (damage !== null) {
      found.isIncomplete = true;
      continue;
    }
    const { parts } = TreeNode.ofStored(level, node);
    found.parts.push(...parts);
    found.nodes.push({ boundary, length: parts.length });
  }
  return found;
}

/** The texts of leaves, one after the other, however damaged. */
async function* readTexts({ db, session, tree, storeId }: TreeTransaction): AsyncGenerator<{
  stored: LeafTexts;
  boundary: string;
}> {
  const { length: prefix } = levelPrefix(tree.name, storeId, 'leaf');
  const texts = db
    .collection<LeafTexts>(RANK_NODES)
    .find(ofLevel(tree.name, storeId, 'leaf'), { session, sort: { _id: 1 } });
  for await (const stored of texts) yield { stored, boundary: stored._id.slice(prefix) };
}

/** How many nodes are stored of levels that a tree with so many does not have. */
async function countOrphans(
  { db, session, tree, storeId }: TreeTransaction,
  levels: number,
): Promise<number> {
  const has = Array.from({ length: levels }, (_, level) => String(level));
  if (tree.searched && levels > 0) has.push('leaf');
  const level = { $arrayElemAt: [{ $split: ['$_id', '/'] }, LEVEL_IN_ID] };
  const stages: Document[] = [
    { $match: nodesOf(tree.name, storeId) },
    { $project: { level } },
    { $match: { level: { $nin: has } } },
    { $count: 'count' },
  ];
  const [row] = await nodesIn(db).aggregate<{ count: number }>(stages, { session }).toArray();
  return row?.count ?? 0;
}

/** `<tree>/<store id>/<level>/…` */
const LEVEL_IN_ID = 2;
