/** Nodes, counts and records that are read in one round trip. */
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import type { RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import type { Packed } from '#shared/read-models/rank-tree/packed-counts.ts';
import { pageOf, type PageRow } from '../page.ts';
import type { View } from '../shared-reads.ts';
import { unionWithStamp } from '../stamp.ts';
import type { ReadInSnapshot } from '../snapshot.ts';
import { type Edge, type Start, cutName } from './descent.ts';
import { indexFor, matching, type RankedRequest } from './request.ts';

export interface Together {
  /** Where the page's records begin; `null` while that is not known. */
  page: Start | null;
  /** `_id`s of nodes. */
  nodes: Iterable<string>;
  /** Leaves of which is counted what comes before a bound. */
  cuts: readonly Edge[];
}

export interface ReadTogether {
  stamp: Stamp | null;
  page: PageRow[];
  nodes: Map<string, Packed>;
  /** By `cutName`. */
  cuts: Map<string, number>;
}

type Row = PageRow & { cut?: number; before?: number } & (Partial<RankNode> | Stamp);

/** @param to where the page's range ends; `null` for the end of all. */
export async function readTogether(
  read: ReadInSnapshot,
  view: View,
  request: RankedRequest,
  to: string | null,
  { page, nodes, cuts }: Together,
): Promise<ReadTogether> {
  const ofRecords: Document[][] = cuts.map(({ key, leaf }, cut) => [
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
  // Only the first collection's index can be named: that of the nodes goes without saying.
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
            ...(ids.length === 0 ? [] : [unionWithStamp(view)]),
          ],
          indexFor(request),
        );
  return sortOut(rows, cuts);
}

function unionWith(coll: string, pipeline: Document[]): Document {
  return { $unionWith: { coll, pipeline } };
}

function sortOut(rows: readonly Row[], asked: readonly Edge[]): ReadTogether {
  const found: ReadTogether = {
    stamp: null,
    page: [],
    nodes: new Map(),
    // Where nothing is counted, there is no row.
    cuts: new Map(asked.map((edge) => [cutName(edge), 0])),
  };
  for (const row of rows) {
    if (row.cut !== undefined) {
      const edge = asked[row.cut];
      if (edge !== undefined) found.cuts.set(cutName(edge), row.before ?? 0);
    } else if ('boundaries' in row && row._id !== undefined && row.boundaries !== undefined) {
      const { _id, boundaries, facets = [], counts } = row;
      found.nodes.set(_id, { boundaries, facets, counts: counts?.buffer ?? new Uint8Array() });
    } else if ('_id' in row) found.stamp = row as Stamp;
    else found.page.push(row);
  }
  return found;
}
