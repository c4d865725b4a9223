/** Reads a page by walking the list in its order, in one round trip with its count and the store's stamp. */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities/index.ts';
import { COLLECTIONS, type Stamp } from '#shared/read-models/collections.ts';
import type { Sort } from './list-request.ts';
import {
  type CountedPage,
  countIn,
  pageFields,
  type PageRequest,
  type PageRow,
  skippedBy,
  unionWithCount,
} from './page.ts';
import type { ReadInSnapshot } from './snapshot.ts';
import { stampIn, unionWithStamp } from './stamp.ts';
import { readSnapshot, type View } from './view.ts';

export interface Walk extends PageRequest {
  entity: EntityName;
  match: Document;
  sort: Sort;
  /** The index in the order of the list, where MongoDB shall not choose. */
  index?: string;
  /** How many match: what the stamp says, or counted, at most so many. */
  count: ((stamp: Stamp | null) => number) | { atMost: number };
}

/** @param read the snapshot that it is a part of; one of its own if it is not given. */
export async function walk(
  view: View,
  { entity, match, sort, index, count, ...page }: Walk,
  read: ReadInSnapshot = (...of) => readSnapshot(view, ...of),
): Promise<CountedPage> {
  const collection = COLLECTIONS[entity];
  const matching: Document[] = [{ $match: match }];
  const stages = [
    ...matching,
    { $sort: sort },
    { $skip: skippedBy(page) },
    { $limit: page.pageSize },
    ...pageFields(view, entity),
  ];
  if (typeof count !== 'function') {
    const counted = Number.isFinite(count.atMost) ? [...matching, { $limit: count.atMost }] : matching;
    stages.push(unionWithCount(collection, counted));
  }
  const rows = await read<PageRow & { count?: number }>(collection, [...stages, unionWithStamp(view)], index);
  const stamp = stampIn(rows);
  return { rows, stamp, count: typeof count === 'function' ? count(stamp) : countIn(rows) };
}

/** However many. */
export const ALL = { atMost: Number.POSITIVE_INFINITY };
