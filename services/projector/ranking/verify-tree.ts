/** Verifying one tree: its records are walked in order, leaf by leaf, and each part of each node is compared with what it covers. */
import type { Stamp } from '#shared/read-models/collections.ts';
import { compareKeys } from '#shared/read-models/rank-tree/keys.ts';
import type { RankEntry } from '#shared/read-models/rank-tree/trees.ts';
import { SEARCH_TEXTS } from '#shared/read-models/search-texts.ts';
import { scanRecords } from './members.ts';
import { readLevel, readTexts, type StoredLevel } from './stored-level.ts';
import { Tally } from './tally.ts';
import type { Work } from './work.ts';

/** Told what is stored and what was counted, of each thing that both know. */
export type Compare = (what: string, stored: string | number, counted: string | number) => void;

/** Compares every node of a tree, and its root, with the records. */
export async function verifyTree(work: Work, stamp: Stamp | null, compare: Compare): Promise<void> {
  const { leaves = 0, levels = 0, counts = {} } = stamp?.ranks?.[work.tree.name] ?? {};
  const lowest = levels === 0 ? { parts: [], nodes: [] } : await readLevel(work, 0);
  const { all, inLeaves } = await countInLeaves(work, lowest, compare);
  compare('counts of the root', Tally.describe(counts), all.describe());
  compare('number of leaves', leaves, lowest.parts.length);
  if (levels === 0) {
    compare('records without leaves', Math.min(all.total, work.tree.leafRecords), all.total);
    return;
  }
  let below = lowest;
  let counted = sumsOf(below, inLeaves);
  for (let level = 1; level < levels; level += 1) {
    const above = await readLevel(work, level);
    compareBoundaries(`level ${level}`, above, below, compare);
    for (const [index, { total, counts: stored }] of above.parts.entries()) {
      compareCounts(`part ${index} of level ${level}`, { total, counts: stored }, counted[index], compare);
    }
    counted = sumsOf(above, counted);
    below = above;
  }
  compare('number of uppermost nodes', below.nodes.length, 1);
}

/** Walks the records past the leaves, and compares each. */
async function countInLeaves(
  work: Work,
  { parts }: StoredLevel,
  compare: Compare,
): Promise<{ all: Tally; inLeaves: Tally[] }> {
  const all = new Tally();
  const inLeaves: Tally[] = [];
  const texts = work.tree.searched && parts.length > 0 ? readTexts(work) : null;
  let inLeaf = new Tally(work.tree.searched);
  const leave = async () => {
    const index = inLeaves.length;
    const leaf = parts[index];
    if (leaf !== undefined) compareCounts(`leaf ${index}`, leaf, inLeaf, compare);
    if (texts !== null) {
      const stored = (await texts.next()).value ?? null;
      compare(
        `whether texts of leaf ${index} begin where it does`,
        String(stored?.boundary === leaf?.boundary),
        'true',
      );
      compare(`records of texts of leaf ${index}`, stored?.total ?? 0, inLeaf.total);
      compare(`bytes of texts of leaf ${index}`, leaf?.bytes ?? 0, inLeaf.bytes);
      for (const name of SEARCH_TEXTS) {
        compare(
          `${name} of leaf ${index}`,
          Tally.fingerprint(stored?.texts[name] ?? ''),
          inLeaf.fingerprintOf(name),
        );
      }
    }
    // What it counted is all that is needed of it from here on.
    inLeaves.push(inLeaf.withoutTexts());
    inLeaf = new Tally(work.tree.searched);
  };
  const isBehind = ({ key }: RankEntry) => {
    const next = parts[inLeaves.length + 1];
    return next !== undefined && compareKeys(key, next.boundary) >= 0;
  };
  for await (const record of scanRecords(work)) {
    while (isBehind(record)) await leave();
    all.add(record);
    inLeaf.add(record);
  }
  while (inLeaves.length < parts.length) await leave();
  if (texts !== null) compare('texts of leaves that are none', await countRest(texts), 0);
  return { all, inLeaves };
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
