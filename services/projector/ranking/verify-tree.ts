/** Verifying one tree: its records are walked in order, and each node is compared with what it covers. */
import type { FindCursor } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import { compareKeys } from '#shared/read-models/rank-tree/keys.ts';
import { levelPrefix, nodesBetween, type RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import type { RankEntry } from '#shared/read-models/rank-tree/trees.ts';
import { SEARCH_TEXTS } from '#shared/read-models/search-texts.ts';
import { scanRecords } from './members.ts';
import { Tally } from './tally.ts';
import type { Work } from './work.ts';

/** Told what is stored and what was counted, of each thing that both know. */
export type Compare = (what: string, stored: string | number, counted: string | number) => void;

/** Compares every node of a tree, and its root, with the records. */
export async function verifyTree(work: Work, stamp: Stamp | null, compare: Compare): Promise<void> {
  const { tree } = work;
  const root = stamp?.ranks?.[tree.name] ?? {};
  const walk = await Walk.begin(work, compare);
  for await (const record of scanRecords(work)) await walk.add(record);
  const { all, leaves } = await walk.end();
  compare('counts of the root', Tally.describe(root.counts ?? {}), all.describe());
  compare('number of leaves', root.leaves ?? 0, leaves);
  if (leaves === 0) compare('records without leaves', Math.min(all.total, tree.leafRecords), all.total);
}

/** The way along the records, past one node after the other. */
class Walk {
  readonly #work: Work;
  readonly #compare: Compare;
  readonly #leaves: FindCursor<RankNode>;
  readonly #branches: RankNode[];
  readonly #all = new Tally();
  readonly #inBranches: Tally[];
  #inLeaf: Tally;
  #leaf: RankNode | null = null;
  #next: RankNode | null = null;
  #leavesPassed = 0;
  #branch = -1;

  static async begin(work: Work, compare: Compare): Promise<Walk> {
    const { db, session, tree, storeId } = work;
    const nodes = db.collection<RankNode>(RANK_NODES);
    const find = (level: 'leaf' | 'branch') =>
      nodes.find(nodesBetween(tree.name, storeId, level, '', null), { session, sort: { _id: 1 } });
    const walk = new Walk(work, compare, find('leaf'), await find('branch').toArray());
    await walk.#advance();
    await walk.#advance();
    return walk;
  }

  private constructor(work: Work, compare: Compare, leaves: FindCursor<RankNode>, branches: RankNode[]) {
    this.#work = work;
    this.#compare = compare;
    this.#leaves = leaves;
    this.#branches = branches;
    this.#inBranches = branches.map(() => new Tally());
    this.#inLeaf = new Tally(work.tree.searched);
  }

  async add(record: RankEntry): Promise<void> {
    while (this.#next !== null && compareKeys(record.key, this.#boundaryOf(this.#next, 'leaf')) >= 0) {
      await this.#leave();
    }
    for (const tally of [this.#all, this.#inLeaf, this.#inBranches[this.#branch]]) tally?.add(record);
  }

  async end(): Promise<{ all: Tally; leaves: number }> {
    while (this.#leaf !== null) await this.#leave();
    this.#compare('branches that begin with a leaf', this.#branches.length, this.#branch + 1);
    for (const [index, { total, counts }] of this.#branches.entries()) {
      const counted = this.#inBranches[index] ?? new Tally();
      this.#compare(`total of branch ${index}`, total, counted.total);
      this.#compare(`counts of branch ${index}`, Tally.describe(counts), counted.describe());
    }
    return { all: this.#all, leaves: this.#leavesPassed };
  }

  /** Compares the leaf that lies behind, and enters the next. */
  async #leave(): Promise<void> {
    const leaf = this.#leaf;
    if (leaf === null) return;
    const at = `leaf ${this.#leavesPassed}`;
    this.#compare(`total of ${at}`, leaf.total, this.#inLeaf.total);
    this.#compare(`counts of ${at}`, Tally.describe(leaf.counts), this.#inLeaf.describe());
    if (this.#work.tree.searched) {
      for (const name of SEARCH_TEXTS) {
        const stored = Tally.fingerprint(leaf.texts?.[name] ?? '');
        this.#compare(`${name} of ${at}`, stored, this.#inLeaf.fingerprintOf(name));
      }
    }
    this.#leavesPassed += 1;
    this.#inLeaf = new Tally(this.#work.tree.searched);
    await this.#advance();
  }

  async #advance(): Promise<void> {
    this.#leaf = this.#next;
    this.#next = await this.#leaves.next();
    if (this.#leaf === null) return;
    const branch = this.#branches[this.#branch + 1];
    if (branch === undefined) return;
    const begins = this.#boundaryOf(branch, 'branch') === this.#boundaryOf(this.#leaf, 'leaf');
    if (begins) this.#branch += 1;
  }

  #boundaryOf({ _id }: RankNode, level: 'leaf' | 'branch'): string {
    const { tree, storeId } = this.#work;
    return _id.slice(levelPrefix(tree.name, storeId, level).length);
  }
}
