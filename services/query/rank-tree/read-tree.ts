/** Nodes, counts and records of a list that has a rank tree, read in one round trip. */
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import type { RankNode, Packed } from '#shared/read-models/rank-tree/nodes.ts';
import { pageOf, type PageRow, type PageRequest } from '../read/page.ts';
import type { View } from '../read/shared-reads.ts';
import { unionWithStamp, type ReadInSnapshot } from '../read/snapshot.ts';
import { type Edge, type Start, boundaryName } from './descent.ts';
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';

export interface TreeRead {
  /** Where the page's records begin; `null` while that is not known. */
  page: Start | null;
  /** `_id`s of nodes. */
  nodes: Iterable<string>;
  /** Leaves in which the records before a bound are counted. */
  boundaryCounts: readonly Edge[];
  withStamp: boolean;
}

export interface TreeReadResult {
  stamp: Stamp | null;
  page: PageRow[];
  nodes: Map<string, Packed>;
  /** By `cutName`. */
  boundaryCounts: Map<string, number>;
}

type Row = PageRow & { cut?: number; before?: number } & (Partial<RankNode> | Stamp);

/** @param to where the page's range ends; `null` for the end of all. */
export async function readTree(
  read: ReadInSnapshot,
  view: View,
  request: RankedRequest,
  to: string | null,
  { page, nodes, boundaryCounts, withStamp }: TreeRead,
): Promise<TreeReadResult> {
  const ofRecords: Document[][] = boundaryCounts.map(({ key, leaf }, cut) => [
    { $match: matching(view.storeId, request, { from: leaf.boundary, to: key }) },
    { $count: 'before' },
    { $set: { cut } },
  ]);
  if (page !== null) {
    const { entity, keyField } = request.tree;
    ofRecords.push([
      { $match: matching(view.storeId, request, { from: page.key, to }) },
      ...pageOf(view, entity, { [keyField]: 1 }, page.skip, request.pageSize),
    ]);
  }
  const ids = [...nodes];
  const ofNodes = ids.length === 0 ? [] : [{ $match: { store_id: view.storeId, _id: { $in: ids } } }];
  // A hint names the index of the first collection only; the nodes are found by `_id`.
  const [first, ...others] = ofRecords.toReversed();
  const rows =
    first === undefined
      ? await read<Row>(RANK_NODES, [...ofNodes, unionWithStamp(view)])
      : await read<Row>(
          request.tree.collection,
          [
            ...first,
            ...others.map((pipeline) => unionWith(request.tree.collection, pipeline)),
            ...(ids.length === 0 ? [] : [unionWith(RANK_NODES, ofNodes)]),
            ...(withStamp ? [unionWithStamp(view)] : []),
          ],
          indexFor(request),
        );
  return sortOut(rows, boundaryCounts);
}

function unionWith(coll: string, pipeline: Document[]): Document {
  return { $unionWith: { coll, pipeline } };
}

function sortOut(rows: readonly Row[], asked: readonly Edge[]): TreeReadResult {
  const found: TreeReadResult = {
    stamp: null,
    page: [],
    nodes: new Map(),
    // Where nothing is counted, there is no row.
    boundaryCounts: new Map(asked.map((edge) => [boundaryName(edge), 0])),
  };
  for (const row of rows) {
    if (row.cut !== undefined) {
      const edge = asked[row.cut];
      if (edge !== undefined) found.boundaryCounts.set(boundaryName(edge), row.before ?? 0);
    } else if ('boundaries' in row && row._id !== undefined && row.boundaries !== undefined) {
      const { _id, boundaries, facets = [], counts } = row;
      found.nodes.set(_id, { boundaries, facets, counts: counts?.buffer ?? new Uint8Array() });
    } else if ('_id' in row) found.stamp = row as Stamp;
    else found.page.push(row);
  }
  return found;
}

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

/** The filter of a sort key in a range. */
export function keyWithin(field: string, { from, to }: KeyRange): Document {
  if (from === '' && to === null) return {};
  return { [field]: { ...(from === '' ? {} : { $gte: from }), ...(to === null ? {} : { $lt: to }) } };
}
