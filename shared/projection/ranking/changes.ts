/** What a slice changes in rank trees. Pure. */
import type { RankEntry } from '../../read-models/rank-tree/trees.ts';
import type { TreeName } from '../../read-models/rank-tree/nodes.ts';

/** What a slice changes in one tree of one store. */
export interface TreeChange {
  tree: TreeName;
  storeId: string;
  added: RankEntry[];
  removed: RankEntry[];
}

/** By `<tree>/<store id>`. */
export type TreeChanges = Map<string, TreeChange>;

/** Notes that a record lay in some places before, and lies in others now; a place that it keeps is no change. */
export function noteMove(
  changes: TreeChanges,
  storeId: string,
  before: readonly RankEntry[],
  after: readonly RankEntry[],
): void {
  for (const entry of before) {
    if (!after.some((other) => isSame(entry, other))) changeOf(changes, entry, storeId).removed.push(entry);
  }
  for (const entry of after) {
    if (!before.some((other) => isSame(entry, other))) changeOf(changes, entry, storeId).added.push(entry);
  }
}

/** A name is a part of the key. */
function isSame(a: RankEntry, b: RankEntry): boolean {
  return a.tree === b.tree && a.key === b.key && a.facet === b.facet && a.texts?.numbers === b.texts?.numbers;
}

function changeOf(changes: TreeChanges, { tree }: RankEntry, storeId: string): TreeChange {
  const key = `${tree}/${storeId}`;
  let change = changes.get(key);
  if (change === undefined) {
    change = { tree, storeId, added: [], removed: [] };
    changes.set(key, change);
  }
  return change;
}
