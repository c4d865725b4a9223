/** Verifying one tree: its records are walked in order, leaf by leaf, and each part of each node is compared with what it covers. */
import type { Stamp } from '../../read-models/collections.ts';
import { compareKeys } from '../../read-models/rank-tree/keys.ts';
import type { LeafTexts, Root } from '../../read-models/rank-tree/nodes.ts';
import type { RankEntry } from '../../read-models/rank-tree/trees.ts';
import { SEARCH_TEXTS } from '../../read-models/search-texts.ts';
import { scanRecords } from './members.ts';
import { damageOfRoot, damageOfTexts } from './node-shape.ts';
import { countStrays, readLevel, readTexts, type StoredLevel } from './stored-level.ts';
import { Tally } from './tally.ts';
import type { TreeTransaction } from './tree-transaction.ts';

/** Told what is stored and what was counted, of each thing that both know. */
export type Compare = (what: string, stored: string | number, counted: string | number) => void;

/** Compares every node of a tree, and its root, with the records. */
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
  compare('nodes of levels that it does not have', await countStrays(transaction, levels), 0);
  const stored: StoredLevel[] = [];
  for (let level = 0; level < levels; level += 1) stored.push(await readLevel(transaction, level));
  for (const [level, { damages }] of stored.entries()) {
    for (const found of damages) compare(`a node of level ${level}`, found, 'a node');
  }
  if (stored.some(({ isIncomplete }) => isIncomplete)) return;
  const [lowest = NOTHING] = stored;
  const { all, inLeaves } = await countInLeaves(transaction, lowest, compare);
  compare('counts of the root', Tally.describe(counts), all.describe());
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
    for (const [part, { total, counts: ofPart }] of above.parts.entries()) {
      compareCounts(`part ${part} of level ${level}`, { total, counts: ofPart }, counted[part], compare);
    }
    counted = sumsOf(above, counted);
    below = above;
  }
  compare('number of uppermost nodes', below.nodes.length, 1);
}

const NOTHING: StoredLevel = { parts: [], nodes: [], damages: [], isIncomplete: false };

/** Walks the records past the leaves, and compares each. */
async function countInLeaves(
  transaction: TreeTransaction,
  { parts }: StoredLevel,
  compare: Compare,
): Promise<{ all: Tally; inLeaves: Tally[] }> {
  const all = new Tally();
  const inLeaves: Tally[] = [];
  const texts = transaction.tree.searched && parts.length > 0 ? readTexts(transaction) : null;
  let inLeaf = new Tally(transaction.tree.searched);
  const leave = async () => {
    const index = inLeaves.length;
    const leaf = parts[index];
    if (leaf !== undefined) compareCounts(`leaf ${index}`, leaf, inLeaf, compare);
    if (texts !== null) {
      const found = (await texts.next()).value ?? null;
      compare(
        `whether texts of leaf ${index} begin where it does`,
        String(found?.boundary === leaf?.boundary),
        'true',
      );
      compare(`bytes of texts of leaf ${index}`, leaf?.bytes ?? 0, inLeaf.bytes);
      compareTexts(`leaf ${index}`, found?.stored ?? null, inLeaf, transaction, compare);
    }
    // What it counted is all that is needed of it from here on.
    inLeaves.push(inLeaf.withoutTexts());
    inLeaf = new Tally(transaction.tree.searched);
  };
  const isBehind = ({ key }: RankEntry) => {
    const next = parts[inLeaves.length + 1];
    return next !== undefined && compareKeys(key, next.boundary) >= 0;
  };
  for await (const record of scanRecords(transaction)) {
    while (isBehind(record)) await leave();
    all.add(record);
    inLeaf.add(record);
  }
  while (inLeaves.length < parts.length) await leave();
  if (texts !== null) compare('texts of leaves that are none', await countRest(texts), 0);
  return { all, inLeaves };
}

function compareTexts(
  leaf: string,
  stored: LeafTexts | null,
  counted: Tally,
  { storeId }: TreeTransaction,
  compare: Compare,
): void {
  const damage = stored === null ? 'missing' : damageOfTexts(stored, storeId);
  if (stored === null || damage !== null) {
    compare(`texts of ${leaf}`, damage ?? '', 'texts');
    return;
  }
  compare(`records of texts of ${leaf}`, stored.total, counted.total);
  for (const name of SEARCH_TEXTS) {
    compare(`${name} of ${leaf}`, Tally.fingerprint(stored.texts[name]), counted.fingerprintOf(name));
  }
}

async function countRest(rest: AsyncGenerator): Promise<number> {
  let count = 0;
  while ((await rest.next()).done !== true) count += 1;
  return count;
}

function compareCounts(
  what: string,
  stored: { total: number; counts: Record<string, number> },
  counted: Tally | undefined,
  compare: Compare,
): void {
  compare(`total of ${what}`, stored.total, counted?.total ?? 0);
  compare(`counts of ${what}`, Tally.describe(stored.counts), counted?.describe() ?? '');
}

/** Each part must begin where the node does that it stands for. Boundaries may be names, and are not told. */
function compareBoundaries(what: string, above: StoredLevel, below: StoredLevel, compare: Compare): void {
  compare(`number of parts of ${what}`, above.parts.length, below.nodes.length);
  const wrong = below.nodes.filter(({ boundary }, index) => above.parts[index]?.boundary !== boundary);
  compare(`parts of ${what} that begin elsewhere than their nodes`, wrong.length, 0);
}

/** What the nodes of a level cover, from what their parts do. */
function sumsOf({ nodes }: StoredLevel, counted: readonly Tally[]): Tally[] {
  let start = 0;
  return nodes.map(({ length }) => {
    const sum = new Tally();
    for (const part of counted.slice(start, start + length)) sum.addAll(part);
    start += length;
    return sum;
  });
}
