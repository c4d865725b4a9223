/** What is asked of a list that has a rank tree, and the stages that find its records. */
import type { Document } from 'mongodb';
import type { Stamp } from '#shared/read-models/collections.ts';
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';
import type { PageRequest } from '../page.ts';
import { keyWithin } from '../range.ts';

export interface RankedRequest extends PageRequest {
  tree: RankTree;
  /** The facets that pass; `null` where all do. */
  facets: string[] | null;
}

/** The condition of the records of a store that a request lets through, within a range of keys. */
export function matching(storeId: string, { tree, facets }: RankedRequest, range: KeyRange): Document {
  return {
    store_id: storeId,
    ...(facets === null ? {} : { facet: { $in: facets } }),
    ...keyWithin(tree.keyField, range),
  };
}

/** The index that leads to these records in their order: by facet the matching ones lie together, merged from each. */
export function indexFor({ tree, facets }: RankedRequest): string {
  return facets === null ? tree.keyIndex : 'by_facet';
}

/** How many of all records pass the filter by facets. */
export function countFromStamp(stamp: Stamp | null, { tree, facets }: RankedRequest): number {
  if (facets === null) return stamp?.counts?.[tree.entity] ?? 0;
  const counts = stamp?.ranks?.[tree.name]?.counts ?? {};
  return facets.reduce((sum, facet) => sum + (counts[facet] ?? 0), 0);
}

/** Whether skipping is quicker than descending the tree: a thousand keys are passed in a fraction of what two round trips take. */
export function isShallow({ tree }: RankedRequest, skip: number): boolean {
  return skip <= tree.leafRecords * 2;
}
