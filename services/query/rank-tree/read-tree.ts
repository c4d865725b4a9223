/** Reads nodes, counts and records of a list with a rank tree in one round trip. */
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import type { RankNode, Packed } from '#shared/read-models/rank-tree/nodes.ts';
import { type PageRow, type PageRequest, shownOf, skippedBy, sliceOf } from '../read/page.ts';
import { readPipelines, type SmallRow, type View } from '../read/shared-reads.ts';
import { type ReadInSnapshot, unionOf, unionWithStamps } from '../read/snapshot.ts';
import { type Edge, type Start, boundaryName } from './descent.ts';
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';

export interface TreeRead {
  /** Where the page begins; `null` if it is not known yet. */
  page: Start | null;
  /** `_id`s of nodes. */
  nodes: Iterable<string>;
  /** Leaves whose records before a bound are counted. */
  boundaryCounts: readonly Edge[];
}

export interface TreeReadResult {
  stamp: Stamp | null;
  page: PageRow[];
  nodes: Map<string, Packed>;
  /** By `boundaryName`. */
  boundaryCounts: Map<string, number>;
}

type Row = SmallRow & (Partial<RankNode> | Stamp);

export async function readTree(
  read: ReadInSnapshot,
  view: View,
  request: RankedRequest,
  { nodes, ...records }: TreeRead,
): Promise<TreeReadResult> {
  const { collection, entity } = request.tree;
  const shown = shownOf(view, entity, { count: 1, bound: 1 });
  const ofRecords = pipelinesOf(view.storeId, request, records).map((pipeline) => [
    ...pipeline,
    ...shown,
  ]);
  // A hint names the index of the first collection only; the nodes are found by `_id`.
  const ofNodes = [{ $match: { store_id: view.storeId, _id: { $in: [...nodes] } } }];
  const stamp = unionWithStamps(view.storeId);
  const afterRecords = [{ $unionWith: { coll: RANK_NODES, pipeline: ofNodes } }, stamp];
  const rows =
    ofRecords.length === 0
      ? await read<Row>(RANK_NODES, [...ofNodes, stamp])
      : await read<Row>(
          collection,
          [...unionOf(collection, ofRecords), ...afterRecords],
          indexFor(request),
        );
  return sortOut(rows, records.boundaryCounts);
}

/** The same without nodes, in one read with other requests. */
export async function readRecords(
  view: View,
  request: RankedRequest,
  asked: Omit<TreeRead, 'nodes'>,
): Promise<TreeReadResult> {
  const pipelines = pipelinesOf(view.storeId, request, asked);
  const { entity } = request.tree;
  const { rows, stamp } = await readPipelines(view, {
    entity,
    index: indexFor(request),
    pipelines,
  });
  return { ...sortOut(rows, asked.boundaryCounts), stamp };
}

/** The pipelines that find the page, and count the records before the bounds. */
function pipelinesOf(
  storeId: string,
  request: RankedRequest,
  { page, boundaryCounts }: Omit<TreeRead, 'nodes'>,
): Document[][] {
  const within = (range: KeyRange) => ({ $match: matching(storeId, request, range) });
  const sort = { [request.tree.keyField]: 1 } as const;
  return [
    ...(page === null
      ? []
      : [[within({ from: page.key, to: request.range.to }), ...sliceOf(sort, request, page.skip)]]),
    ...boundaryCounts.map(({ key, leaf }, bound) => [
      within({ from: leaf.boundary, to: key }),
      { $count: 'count' },
      { $set: { bound } },
    ]),
  ];
}

function sortOut(rows: readonly Row[], asked: readonly Edge[]): TreeReadResult {
  const found: TreeReadResult = {
    stamp: null,
    page: [],
    nodes: new Map(),
    // A count of nothing has no row.
    boundaryCounts: new Map(asked.map((edge) => [boundaryName(edge), 0])),
  };
  for (const row of rows) {
    if (row.bound !== undefined) {
      const edge = asked[row.bound];
      if (edge !== undefined) found.boundaryCounts.set(boundaryName(edge), row.count ?? 0);
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
  /** The facets that pass; `null` if all do. */
  facets: string[] | null;
  /** The keys that pass. */
  range: KeyRange;
}

/** The filter of the records of a store that a request matches within a range of keys. */
function matching(storeId: string, { tree, facets }: RankedRequest, range: KeyRange): Document {
  return {
    store_id: storeId,
    ...(facets !== null && { facet: { $in: facets } }),
    ...keyWithin(tree, range),
  };
}

/**
 * The index with these records in their order. By facet, MongoDB merges the sorted records of each
 * facet.
 */
function indexFor({ tree, facets }: RankedRequest): string {
  return facets === null ? tree.keyIndex : 'by_facet';
}

export function countFromStamp(
  stamp: Stamp | null,
  { tree, facets }: Pick<RankedRequest, 'tree' | 'facets'>,
): number {
  if (facets === null) return stamp?.counts?.[tree.entity] ?? 0;
  const counts = stamp?.ranks?.[tree.name]?.counts ?? {};
  return facets.reduce((sum, facet) => sum + (counts[facet] ?? 0), 0);
}

/** Whether skipping is faster than the tree: a thousand keys take a fraction of two round trips. */
export function isShallow(request: RankedRequest): boolean {
  return skippedBy(request) <= request.tree.leafRecords * 2;
}

export function isWhole({ from, to }: KeyRange): boolean {
  return from === '' && to === null;
}

export function keyWithin({ keyField }: RankTree, range: KeyRange): Document {
  return isWhole(range) ? {} : { [keyField]: within(range.from, range.to) };
}

/** From a bound on, and before another; `null` leaves a side open. */
export function within(from: string | Date | null, before: string | Date | null): Document {
  return {
    ...(from !== null && { $gte: from }),
    ...(before !== null && { $lt: before }),
  };
}
