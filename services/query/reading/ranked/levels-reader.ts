/** Reads the levels of a rank tree: its branches together with the store's stamp, then the leaves of some of them. */
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import { type Level, levelPrefix, nodesBetween } from '#shared/read-models/rank-tree/nodes.ts';
import type { TreeName } from '#shared/read-models/rank-tree/trees.ts';
import { type ReadShared, stampIn, unionWithStamp, type View } from '../view.ts';
import type { LevelNode } from './levels.ts';

interface NodeRow {
  at?: string;
  count?: number;
}

export class LevelsReader {
  readonly #read: ReadShared;
  readonly #view: View;
  readonly #tree: TreeName;
  readonly #facets: readonly string[] | null;

  constructor(read: ReadShared, view: View, tree: TreeName, facets: readonly string[] | null) {
    this.#read = read;
    this.#view = view;
    this.#tree = tree;
    this.#facets = facets;
  }

  async branches(): Promise<{ branches: LevelNode[]; stamp: Stamp | null }> {
    const { storeId } = this.#view;
    const rows = await this.#read<NodeRow>(RANK_NODES, [
      { $match: nodesBetween(this.#tree, storeId, 'branch', '', null) },
      ...this.#nodeStages(),
      unionWithStamp(this.#view),
    ]);
    return { branches: this.#nodesIn(rows, 'branch'), stamp: stampIn(rows) };
  }

  /** The leaves of some branches, by the branch's index. */
  async leavesOf(
    branches: readonly LevelNode[],
    indexes: Iterable<number>,
  ): Promise<Map<number, LevelNode[]>> {
    const { storeId } = this.#view;
    const parts = [...indexes].map((index) => ({
      index,
      from: branches[index]?.boundary ?? '',
      filter: nodesBetween(
        this.#tree,
        storeId,
        'leaf',
        branches[index]?.boundary ?? '',
        branches[index + 1]?.boundary ?? null,
      ),
    }));
    const [first, ...others] = parts.map(({ filter, index }) => [
      { $match: filter },
      ...this.#nodeStages({ branch: { $literal: index } }),
    ]);
    if (first === undefined) return new Map();
    const rows = await this.#read<NodeRow & { branch: number }>(RANK_NODES, [
      ...first,
      ...others.map((pipeline) => ({ $unionWith: { coll: RANK_NODES, pipeline } })),
    ]);
    const byBranch = Map.groupBy(rows, ({ branch }) => branch);
    return new Map(parts.map(({ index }) => [index, this.#nodesIn(byBranch.get(index) ?? [], 'leaf')]));
  }

  /** Nodes in order, each with how many of its records have the facets. */
  #nodeStages(fields: Document = {}): Document[] {
    const count =
      this.#facets === null ? '$total' : { $sum: this.#facets.map((facet) => `$counts.${facet}`) };
    return [{ $sort: { _id: 1 } }, { $project: { _id: 0, at: '$_id', count, ...fields } }];
  }

  #nodesIn(rows: readonly NodeRow[], level: Level): LevelNode[] {
    const { length } = levelPrefix(this.#tree, this.#view.storeId, level);
    return rows.flatMap(({ at, count }) =>
      at === undefined || count === undefined ? [] : { boundary: at.slice(length), count },
    );
  }
}
