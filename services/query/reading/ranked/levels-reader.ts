/** The stages that read levels of a rank tree, and the nodes in what they found. Several levels come in one round trip. */
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import { type Level, levelPrefix, nodesBetween } from '#shared/read-models/rank-tree/nodes.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';
import { type ReadInSnapshot, stampIn, unionWithStamp, type View } from '../view.ts';
import type { LevelNode } from './levels.ts';

/** A node as it is read, with the part of the question that it answers. */
export interface NodeRow {
  at?: string;
  count?: number;
  part?: string;
}

/** The upper part of a tree. */
export interface Top {
  branches: LevelNode[];
  stamp: Stamp | null;
  /** For each key that was asked for: leaves up to the one that covers it, as many as a branch may have. */
  upTo: Map<string, LevelNode[]>;
}

export class LevelsReader {
  readonly #view: View;
  readonly #tree: RankTree;
  readonly #facets: readonly string[] | null;

  constructor(view: View, tree: RankTree, facets: readonly string[] | null) {
    this.#view = view;
    this.#tree = tree;
    this.#facets = facets;
  }

  /** Reads all branches, the store's stamp, and what tells the ranks of some keys up to their leaves. */
  async top(read: ReadInSnapshot, keys: readonly string[]): Promise<Top> {
    const rows = await read<NodeRow>(RANK_NODES, [
      { $match: this.#between('branch', '', null) },
      { $sort: { _id: 1 } },
      ...this.#nodeStages('branches'),
      ...keys.map((key) => unionWithNodes(this.#leavesUpTo(key))),
      unionWithStamp(this.#view),
    ]);
    const upTo = keys.map((key): [string, LevelNode[]] => [key, this.leavesIn(rows, key).toReversed()]);
    return { branches: this.#nodesIn(rows, 'branch', 'branches'), stamp: stampIn(rows), upTo: new Map(upTo) };
  }

  /** The stages that read the leaves of a branch, as one part of several. */
  leavesOf(branches: readonly LevelNode[], index: number, part: string): Document[] {
    const { boundary = '' } = branches[index] ?? {};
    const end = branches[index + 1]?.boundary ?? null;
    return [
      { $match: this.#between('leaf', boundary, end) },
      { $sort: { _id: 1 } },
      ...this.#nodeStages(part),
    ];
  }

  /** The leaves in what was read, of one part. */
  leavesIn(rows: readonly NodeRow[], part: string): LevelNode[] {
    return this.#nodesIn(rows, 'leaf', part);
  }

  #leavesUpTo(key: string): Document[] {
    const { _id, ...store } = this.#between('leaf', '', null);
    const last = levelPrefix(this.#tree.name, this.#view.storeId, 'leaf') + key;
    return [
      { $match: { ...store, _id: { $gte: _id.$gte, $lte: last } } },
      { $sort: { _id: -1 } },
      { $limit: this.#tree.branchLeaves },
      ...this.#nodeStages(key),
    ];
  }

  #between(level: Level, from: string, to: string | null) {
    return nodesBetween(this.#tree.name, this.#view.storeId, level, from, to);
  }

  /** What is told of a node: how many of its records have the facets. */
  #nodeStages(part: string): Document[] {
    const count =
      this.#facets === null ? '$total' : { $sum: this.#facets.map((facet) => `$counts.${facet}`) };
    return [{ $project: { _id: 0, at: '$_id', count, part: { $literal: part } } }];
  }

  #nodesIn(rows: readonly NodeRow[], level: Level, wanted: string): LevelNode[] {
    const { length } = levelPrefix(this.#tree.name, this.#view.storeId, level);
    return rows.flatMap(({ at, count, part }) =>
      part !== wanted || at === undefined || count === undefined ? [] : { boundary: at.slice(length), count },
    );
  }
}

/** The stage that adds nodes to what else is read. */
export function unionWithNodes(pipeline: Document[]): Document {
  return { $unionWith: { coll: RANK_NODES, pipeline } };
}
