/** Reads one page of a list with its count by walking its order: for lists that stay short, and filters that leave few. */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities/index.ts';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import type { Found } from './found.ts';
import { readGuessing, type ToInstant } from './guess.ts';
import {
  countIn,
  foundPage,
  pageFields,
  type PageRequest,
  type PageRow,
  skippedBy,
  unionWithCount,
} from './page.ts';
import { readSnapshot, type View } from './view.ts';
import { stampIn, unionWithStamp } from './stamp.ts';
import { readWhole } from './whole.ts';

export interface ListRequest extends PageRequest {
  entity: EntityName;
  /** Which records, besides those of other stores, which never are. */
  filter: (toInstant: ToInstant) => Document;
  /** Stages that add to the records what they are sorted by, where they do not hold it. */
  arrange?: Document[];
  sort: Record<string, 1 | -1>;
}

/** The order of short lists by time; ids break ties. */
export const NEWEST_FIRST = { created_at: -1, _id: 1 } as const;

/** The filter of a field that has one of several values; all pass where none is asked for. */
export function anyOf(field: string, words: readonly string[]): Document {
  return words.length === 0 ? {} : { [field]: { $in: words } };
}

/** The page as the envelope of rule R6.1. */
export async function readList(view: View, request: ListRequest): Promise<Found> {
  const { entity, filter, sort } = request;
  const page = await readGuessing(view, async (toInstant) => {
    const filters = filter(toInstant);
    if (Object.keys(filters).length === 0) return readWhole(view, request, request);
    const match = { $match: { store_id: view.storeId, ...filters } };
    const rows = await readSnapshot<PageRow & { count?: number }>(view, COLLECTIONS[entity], [
      match,
      { $sort: sort },
      { $skip: skippedBy(request) },
      { $limit: request.pageSize },
      ...pageFields(view, entity),
      unionWithCount(COLLECTIONS[entity], [match]),
      unionWithStamp(view),
    ]);
    return { rows, stamp: stampIn(rows), count: countIn(rows) };
  });
  return foundPage(page, request);
}
