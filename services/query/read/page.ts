/**
 * A page of a list: the index scan that reads it in one round trip with the count and the stamp,
 * and its envelope (rule R6.1).
 */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities.ts';
import { type Stamp, ERASURES, COLLECTIONS } from '#shared/read-models/collections.ts';
import { shiftJson } from '#shared/records/stored-json.ts';
import {
  type Found,
  offsetOf,
  type ReadInSnapshot,
  readSnapshot,
  stampIn,
  type StoreView,
  unionWithStamps,
} from './snapshot.ts';
import { namesCustomers, withoutCustomer } from '#shared/read-models/erasures.ts';

export interface PageRequest {
  page: number;
  pageSize: number;
}

/** The part of a record that a page shows. */
export interface PageRow {
  /** In place of the rest, if only ids were wanted. */
  id?: string;
  summary?: string;
  offset?: string;
  /** Whether the customer that it names is being erased. */
  erased?: boolean;
}

/** The projection that leaves what a page shows. */
export const PAGE_FIELDS = { $project: { _id: 0, summary: 1, offset: 1 } };

/** The stages that leave what a page of records of one kind shows, and other `fields`. */
export function shownOf(
  { redactErased, alone }: Partial<StoreView>,
  entity: EntityName,
  fields: object = {},
): Document[] {
  if (alone?.idsOnly) return [{ $project: { _id: 0, id: '$_id', ...fields } }];
  return projected({ ...PAGE_FIELDS.$project, ...fields }, entity, redactErased);
}

/** A projection; with `erased`, if erasures are read, of records that name customers. */
export function projected(shown: Document, entity: EntityName, redactErased = false): Document[] {
  return redactErased && namesCustomers(entity) ? redactedFields(shown) : [{ $project: shown }];
}

export function sliceOf(sort: Sort, request: PageRequest, skip = skippedBy(request)): Document[] {
  return [{ $sort: sort }, { $skip: skip }, { $limit: request.pageSize }];
}

/** More than any collection holds, and small enough that no arithmetic overflows. */
const MAX_SKIPPED = 1_000_000_000_000;

export function skippedBy({ page, pageSize }: PageRequest): number {
  return Math.min((page - 1) * pageSize, MAX_SKIPPED);
}

/** Finds the `limit` records after the first `skip` in the parts of a list. */
export function segmentsOf<P extends { count: number }>(
  parts: readonly P[],
  skip: number,
  limit: number,
) {
  const segments: { part: P; skip: number; limit: number }[] = [];
  let before = 0;
  for (const part of parts) {
    const from = Math.max(skip, before) - before;
    const to = Math.min(skip + limit, before + part.count) - before;
    if (to > from) segments.push({ part, skip: from, limit: to - from });
    before += part.count;
    if (before >= skip + limit) break;
  }
  return segments;
}

/** A page as it was read, with the number of all that match and the stamp of the same snapshot. */
export interface CountedPage {
  /** Records in the order of the list, and other rows of the same read. */
  rows: readonly PageRow[];
  stamp: Stamp | null;
  count: number;
  /** Whether other requests get the same rows. */
  isShared?: true;
}

/** The answer that shows a page: the rows that are records, in their envelope. */
export function foundPage(page: CountedPage, request: PageRequest): Found {
  const body = `${headOf(page, request)}${bodiesOf(page).join(',')}]}`;
  return { body: Buffer.from(body, 'latin1'), stamp: page.stamp };
}

export function headOf({ count }: CountedPage, { page, pageSize }: PageRequest): string {
  return `{"count":${count},"page":${page},"page_size":${pageSize},"results":[`;
}

export function bodiesOf({ rows, stamp }: CountedPage): string[] {
  const offset = offsetOf(stamp);
  const bodies: string[] = [];
  for (const { summary, offset: madeFor, erased } of rows) {
    if (summary === undefined || madeFor === undefined) continue;
    bodies.push(shiftJson(redacted(summary, erased), madeFor, offset));
  }
  return bodies;
}

/** The stages of a projection that adds `erased`: whether the customer is being erased. */
export function redactedFields(shown: Document): Document[] {
  return [
    {
      $project: {
        ...shown,
        feed_position: 1,
        customer: { $concat: ['$store_id', '/', '$customer_id'] },
      },
    },
    { $lookup: { from: ERASURES, localField: 'customer', foreignField: '_id', as: 'erasures' } },
    // Where there are none their maximum is `null`, which is less than any position.
    {
      $project: { ...shown, erased: { $lte: ['$feed_position', { $max: '$erasures.position' }] } },
    },
  ];
}

/** A body, without its customer if that one is being erased. */
export function redacted(body: string, erased: boolean | undefined): string {
  return erased === true ? withoutCustomer(body) : body;
}

export type Sort = Record<string, 1 | -1>;

export interface IndexScan extends PageRequest {
  entity: EntityName;
  match: Document;
  sort: Sort;
  /** The stages that add the sort key, where records do not hold it. */
  sortKey?: ((storeId: string) => Document[]) | undefined;
  /** The index to use; without it MongoDB chooses. */
  index?: string | undefined;
  /** How many match; `null` to count them. */
  count: ((stamp: Stamp | null) => number) | null;
}

/** @param read belongs to a snapshot; without it the scan has one of its own. */
export async function indexScan(
  view: StoreView,
  { entity, match, sort, sortKey, index, count, ...page }: IndexScan,
  read: ReadInSnapshot = (of, pipeline, hint) => readSnapshot(view, of, pipeline, { hint }),
): Promise<CountedPage> {
  const coll = COLLECTIONS[entity];
  const matching = { $match: match };
  const rows = await read<PageRow & { count?: number }>(
    coll,
    [
      matching,
      ...(sortKey?.(view.storeId) ?? []),
      ...sliceOf(sort, page),
      ...shownOf(view, entity),
      ...(count === null
        ? [{ $unionWith: { coll, pipeline: [matching, { $count: 'count' }] } }]
        : []),
      unionWithStamps(view.storeId),
    ],
    index,
  );
  const stamp = stampIn(rows);
  return { rows, stamp, count: count === null ? countIn(rows) : count(stamp) };
}

/** The count among rows; a count of nothing has no row. */
export function countIn(rows: readonly { count?: number }[]): number {
  return rows.find((row) => row.count !== undefined)?.count ?? 0;
}
