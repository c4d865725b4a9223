/** The nodes of rank trees as they are stored, and their `_id`s. The root is a part of the store's stamp. */
import type { SearchTexts } from '../search-texts.ts';
import type { TreeName } from './trees.ts';

/** How many records a node covers, in all and for each facet. A count that came to 0 may stay as such. */
export interface Counts {
  total: number;
  counts: Record<string, number>;
}

/** A leaf or a branch: the records from its boundary on, up to the next one's of its level. */
export interface RankNode extends Counts {
  /** `<tree>/<store id>/<level>/<boundary>`; the first boundary of a level is empty. */
  _id: string;
  store_id: string;
  /** Of leaves of the tree that is searched: what is compared. */
  texts?: SearchTexts;
}

/** What a stamp says of a tree: its root. */
export interface Root {
  /** How many records there are of each facet. */
  counts?: Record<string, number>;
  /** How many leaves the tree has; none while its records are too few to need them. */
  leaves?: number;
  /** Another one after every change of a tree that has leaves: who remembers its boundaries knows by it whether they still hold. */
  version?: string;
}

export type Level = 'branch' | 'leaf';

/** What the `_id`s of a level's nodes begin with. */
export function levelPrefix(tree: TreeName, storeId: string, level: Level): string {
  return `${tree}/${storeId}/${level}/`;
}

/** `_id` of the node that begins at a boundary. */
export function nodeId(tree: TreeName, storeId: string, level: Level, boundary: string): string {
  return levelPrefix(tree, storeId, level) + boundary;
}

/** The filter of a level's nodes whose boundaries lie in a range: `from` included, `to` not, `null` for the level's end. */
export function nodesBetween(
  tree: TreeName,
  storeId: string,
  level: Level,
  from: string,
  to: string | null,
): { store_id: string; _id: { $gte: string; $lt: string } } {
  const prefix = levelPrefix(tree, storeId, level);
  return {
    store_id: storeId,
    _id: { $gte: prefix + from, $lt: to === null ? endOf(prefix) : prefix + to },
  };
}

/** The filter of all nodes of a tree. */
export function nodesOf(
  tree: TreeName,
  storeId: string,
): { store_id: string; _id: { $gte: string; $lt: string } } {
  const prefix = `${tree}/${storeId}/`;
  return { store_id: storeId, _id: { $gte: prefix, $lt: endOf(prefix) } };
}

/** What comes right after everything that begins with a prefix that ends in a slash: `0` follows `/`. */
function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}
