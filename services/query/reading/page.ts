/** A page of a list: which one is asked for, and the envelope it is answered in (rule R6.1). */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities/index.ts';
import type { Stamp } from '#shared/read-models/collections.ts';
import { shiftBody } from '#shared/read-models/local-time.ts';
import type { Found } from './found.ts';
import { masked, maskedFields, namesCustomers } from './masking.ts';
import { offsetOf } from './stamp.ts';

export interface PageRequest {
  page: number;
  pageSize: number;
}

/** What a page shows of a record. */
export interface PageRow {
  summary?: string;
  offset?: string;
  /** Whether the customer whom it names is being erased. */
  erased?: boolean;
}

/** The projection that leaves what a page shows. */
export const PAGE_FIELDS = { $project: { _id: 0, summary: 1, offset: 1 } };

/** The stages that leave a page of records of one kind. */
export function pageOf(
  { masks }: { masks: boolean },
  entity: EntityName,
  sort: Document,
  skip: number,
  limit: number,
): Document[] {
  return [
    { $sort: sort },
    { $skip: skip },
    { $limit: limit },
    ...(masks && namesCustomers(entity) ? maskedFields(PAGE_FIELDS.$project) : [PAGE_FIELDS]),
  ];
}

/** Skipping more than any collection holds is skipping everything, and no arithmetic overflows on the way. */
const MOST_SKIPPED = 1_000_000_000_000;

/** How many records come before a page. */
export function skippedBy({ page, pageSize }: PageRequest): number {
  return Math.min((page - 1) * pageSize, MOST_SKIPPED);
}

/** A page as it was read, with the number of all that match and the stamp of the same snapshot. */
export interface CountedPage {
  /** Records, in the order of the list, and whatever else was read with them. */
  rows: readonly PageRow[];
  stamp: Stamp | null;
  count: number;
}

/** The answer that shows a page: the envelope around those rows that are records. */
export function foundPage({ rows, stamp, count }: CountedPage, { page, pageSize }: PageRequest): Found {
  const offset = offsetOf(stamp);
  const bodies: string[] = [];
  for (const { summary, offset: madeFor, erased } of rows) {
    if (summary === undefined || madeFor === undefined) continue;
    bodies.push(shiftBody(masked(summary, erased), madeFor, offset));
  }
  const body = `{"count":${count},"page":${page},"page_size":${pageSize},"results":[${bodies.join(',')}]}`;
  return { body, stamp };
}
