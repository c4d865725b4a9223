/**
 * A tree in memory, with the nodes that were needed; the cache of such trees; and the changes of a
 * slice.
 */
import { randomUUID } from 'node:crypto';
import type { ClientSession, Db } from 'mongodb';
import { LRUCache } from 'lru-cache';
import type { RankEntry, RankTree } from '../../read-models/rank-tree/trees.ts';
import {
  type Counts,
  nodeId,
  type RankNode,
  type TreeName,
} from '../../read-models/rank-tree/nodes.ts';
import { getOrInsert } from '../../maps.ts';
import { bytesOfTexts } from '../../read-models/search-texts.ts';
import { divide, type Part, TreeNode } from './nodes.ts';

export interface TreeTransaction {
  db: Db;
  session: ClientSession;
  tree: RankTree;
  storeId: string;
}

/** The leaf that covers a key: a part of a node of level 0. */
export interface LeafPlace {
  node: TreeNode;
  leaf: Part;
  end: string | null;
}

/** Without its boundary. */
const BYTES_OF_A_PART = 330;

export class LoadedTree {
  #top: TreeNode;
  /** Stored nodes that begin elsewhere now, or are empty. */
  readonly #obsolete: Pick<TreeNode, 'level' | 'boundary'>[] = [];
  leaves: number;

  constructor(top: TreeNode, leaves: number) {
    this.#top = top;
    this.leaves = leaves;
  }

  /** A tree of leaves that is not stored yet. @param leaves in order, at least one. */
  static of(tree: RankTree, leaves: readonly Part[]): LoadedTree {
    const loaded = new LoadedTree(new TreeNode(0, [...leaves]), leaves.length);
    loaded.divideCrowded(tree);
    return loaded;
  }

  get levels(): number {
    return this.#top.level + 1;
  }

  get counted(): Counts {
    return this.#top.asPart();
  }

  /** The approximate bytes of its nodes: boundaries may be names of hundreds of characters. */
  get size(): number {
    let size = 0;
    for (const { parts } of this.#nodes()) {
      for (const { boundary } of parts) size += BYTES_OF_A_PART + boundary.length * 2;
    }
    return size;
  }

  /** The uppermost part on the way to a key whose node is not in memory, if any. */
  missingFor(key: string): { level: number; part: Part } | null {
    let node = this.#top;
    while (node.level > 0) {
      const part = node.parts[node.indexOf(key)];
      if (part === undefined) return null;
      if (part.below === null) return { level: node.level - 1, part };
      node = part.below;
    }
    return null;
  }

  /**
   * Adds a record to all parts that cover its key, or removes it. The nodes on the way must be in
   * memory.
   */
  count(entry: RankEntry, by: 1 | -1): LeafPlace | null {
    const { key, facet, texts } = entry;
    let node = this.#top;
    let end: string | null = null;
    for (;;) {
      const index = node.indexOf(key);
      const part = node.parts[index];
      if (part === undefined) return null;
      part.total += by;
      part.counts[facet] = (part.counts[facet] ?? 0) + by;
      node.isChanged = true;
      if (node.level === 0) {
        if (texts !== undefined) part.bytes = (part.bytes ?? 0) + by * bytesOfTexts(texts);
        return { node, leaf: part, end };
      }
      if (part.below === null) return null;
      end = node.parts[index + 1]?.boundary ?? end;
      node = part.below;
    }
  }

  divideCrowded(tree: RankTree): void {
    this.#divideBelow(tree, this.#top);
    for (;;) {
      const pieces = divide(tree, this.#top);
      if (pieces.length === 1) return;
      this.#top = new TreeNode(
        this.#top.level + 1,
        pieces.map((piece) => piece.asPart()),
      );
    }
  }

  /** The nodes that must be written. From now on they count as stored. */
  takeChanged(tree: RankTree, storeId: string): RankNode[] {
    const changed: RankNode[] = [];
    for (const node of this.#nodes()) {
      if (!node.isChanged) continue;
      const _id = nodeId(tree.name, storeId, node.level, node.boundary);
      changed.push({ _id, store_id: storeId, ...node.content() });
      node.isChanged = false;
    }
    return changed;
  }

  /** The `_id`s of the nodes that must be removed. From now on they count as such. */
  takeObsolete(tree: RankTree, storeId: string): string[] {
    return this.#obsolete
      .splice(0)
      .map(({ level, boundary }) => nodeId(tree.name, storeId, level, boundary));
  }

  /**
   * Divides the nodes below one, and follows those whose first leaf begins elsewhere or is gone.
   */
  #divideBelow(tree: RankTree, node: TreeNode): void {
    if (node.level === 0) return;
    node.parts = node.parts.flatMap((part) => {
      const { boundary, below } = part;
      if (below === null || !below.isChanged) return [part];
      this.#divideBelow(tree, below);
      const isEmpty = below.parts.length === 0;
      const isThere = !isEmpty && below.boundary === boundary;
      if (!isThere) this.#obsolete.push({ level: below.level, boundary });
      const pieces = isEmpty ? [] : divide(tree, below);
      return isThere && pieces.length === 1 ? [part] : pieces.map((piece) => piece.asPart());
    });
  }

  /** The nodes in memory, each before those below it, and those of a level in order. */
  *#nodes(): Generator<TreeNode> {
    let level = [this.#top];
    while (level.length > 0) {
      yield* level;
      level = level.flatMap(({ parts }) => parts.flatMap(({ below }) => below ?? []));
    }
  }
}

/**
 * Approximate. A store with ten million orders has 22,000 parts of some 350 bytes, of which a slice
 * needs a few hundred.
 */
const CACHED_BYTES = 50_000_000;

/**
 * An entry holds one version of its tree, which the stamp names: after an aborted transaction nodes
 * are read again.
 */
export class TreeCache {
  readonly #trees = new LRUCache<string, { version: string; loaded: LoadedTree }>({
    maxSize: CACHED_BYTES,
    sizeCalculation: ({ loaded }) => loaded.size,
  });

  /**
   * Removes the tree of a version from the cache: the caller changes it, and the transaction may
   * fail.
   */
  take(transaction: TreeTransaction, version: string | undefined): LoadedTree | null {
    const key = keyOf(transaction);
    const cached = this.#trees.get(key);
    this.#trees.delete(key);
    return cached?.version === version ? (cached?.loaded ?? null) : null;
  }

  put(transaction: TreeTransaction, version: string, loaded: LoadedTree): void {
    this.#trees.set(keyOf(transaction), { version, loaded });
  }
}

function keyOf({ db, tree, storeId }: TreeTransaction): string {
  return `${db.databaseName}/${tree.name}/${storeId}`;
}

const process = randomUUID();
let made = 0;

export function nextVersion(): string {
  made += 1;
  return `${process}/${made}`;
}

export interface TreeChange {
  tree: TreeName;
  storeId: string;
  added: RankEntry[];
  removed: RankEntry[];
}

/** By `<tree>/<store id>`. */
export type TreeChanges = Map<string, TreeChange>;

/** Notes the places of a record before and after. Places that it keeps are not a change. */
export function noteMove(
  changes: TreeChanges,
  storeId: string,
  before: readonly RankEntry[],
  after: readonly RankEntry[],
): void {
  for (const entry of before) {
    if (!after.some((other) => isSame(entry, other)))
      changeOf(changes, entry, storeId).removed.push(entry);
  }
  for (const entry of after) {
    if (!before.some((other) => isSame(entry, other)))
      changeOf(changes, entry, storeId).added.push(entry);
  }
}

/** A name is a part of the key. */
function isSame(a: RankEntry, b: RankEntry): boolean {
  return (
    a.tree === b.tree &&
    a.key === b.key &&
    a.facet === b.facet &&
    a.texts?.numbers === b.texts?.numbers
  );
}

function changeOf(changes: TreeChanges, { tree }: RankEntry, storeId: string): TreeChange {
  const make = () => ({ tree, storeId, added: [], removed: [] });
  return getOrInsert(changes, `${tree}/${storeId}`, make);
}
