/** Reads one page of a list with its count, from one snapshot. */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities/index.ts';
import { COLLECTIONS, type Stamp } from '#shared/read-models/collections.ts';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import { bodyIn, type Found } from './found.ts';
import {
  guessOffset,
  offsetOf,
  readSnapshot,
  rememberOffset,
  stampIn,
  unionWithStamp,
  type View,
} from './view.ts';

/** The instant of a local date-time that was read as if it were UTC. */
export type ToInstant = (local: number) => Date;

export interface ListRequest {
  entity: EntityName;
  /** Which records, besides those of other stores, which never are. */
  filter: (toInstant: ToInstant) => Document;
  sort: Record<string, 1 | -1>;
  page: number;
  pageSize: number;
}

/** The order of most lists; ids break ties. */
export const NEWEST_FIRST = { created_at: -1, _id: 1 } as const;

/** The filter of a field that has one of several values; all pass where none is asked for. */
export function anyOf(field: string, words: readonly string[]): Document {
  return words.length === 0 ? {} : { [field]: { $in: words } };
}

/** Skipping more than any collection holds is skipping everything, and no arithmetic overflows on the way. */
const MOST_SKIPPED = 1_000_000_000_000;

interface Row {
  summary?: string;
  offset?: string;
  count?: number;
}

/**
 * The page as the envelope of SPEC section 2. Date-times in the filter are local, and the offset lies in the same snapshot as the
 * records: it is guessed, and should the guess be wrong, the page is read once more.
 */
export async function readList(view: View, request: ListRequest): Promise<Found> {
  let guess = guessOffset(view);
  for (;;) {
    const { pipeline, dated, filtered } = listPipeline(view, request, guess);
    const rows = await readSnapshot<Row>(view, COLLECTIONS[request.entity], pipeline);
    const stamp = stampIn(rows);
    const offset = offsetOf(stamp);
    if (offset !== guess) rememberOffset(view, offset);
    if (offset === guess || !dated) return { body: envelope(rows, stamp, filtered, request), stamp };
    guess = offset;
  }
}

function listPipeline(
  view: View,
  { entity, filter, sort, page, pageSize }: ListRequest,
  offset: string,
): { pipeline: Document[]; dated: boolean; filtered: boolean } {
  let dated = false;
  const shift = offsetMilliseconds(offset);
  const toInstant: ToInstant = (local) => {
    dated = true;
    return new Date(local - shift);
  };
  const filters = filter(toInstant);
  const filtered = Object.keys(filters).length > 0;
  const match = { $match: { store_id: view.storeId, ...filters } };
  const counting = { $unionWith: { coll: COLLECTIONS[entity], pipeline: [match, { $count: 'count' }] } };
  const pipeline = [
    match,
    { $sort: sort },
    { $skip: Math.min((page - 1) * pageSize, MOST_SKIPPED) },
    { $limit: pageSize },
    { $project: { _id: 0, summary: 1, offset: 1 } },
    // How many there are in all, the stamp says.
    ...(filtered ? [counting] : []),
    unionWithStamp(view),
  ];
  return { pipeline, dated, filtered };
}

function envelope(
  rows: Row[],
  stamp: Stamp | null,
  filtered: boolean,
  { entity, page, pageSize }: ListRequest,
): string {
  const offset = offsetOf(stamp);
  const bodies: string[] = [];
  let total = filtered ? 0 : (stamp?.counts?.[entity] ?? 0);
  for (const { summary: body, offset: madeFor, count } of rows) {
    if (body !== undefined && madeFor !== undefined) bodies.push(bodyIn(offset, { body, offset: madeFor }));
    else if (count !== undefined) total = count;
  }
  return `{"count":${total},"page":${page},"page_size":${pageSize},"results":[${bodies.join(',')}]}`;
}
