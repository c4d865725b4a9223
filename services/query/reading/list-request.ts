/** What is asked of a list, whichever way it is read (`lists.ts`). */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities/index.ts';
import { type KeyRange, WHOLE } from '#shared/read-models/rank-tree/keys.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';
import type { PageRequest } from './page.ts';
import { keyWithin, type ToInstant } from './range.ts';
import { searchFilter, type SearchTerms } from './search/terms.ts';

/** The order of a list: an index has it. */
export type Sort = Record<string, 1 | -1>;

/** The order of short lists by time; ids break ties. */
export const NEWEST_FIRST = { created_at: -1, _id: 1 } as const;

export interface ListRequest extends PageRequest {
  entity: EntityName;
  sort: Sort;
  /** Stages that add to records what they are sorted by, where they do not hold it: products stand in the order of their categories. */
  arrange: Document[];
  /** The rank tree in whose order the list is; `null` for lists that stay short. */
  tree: RankTree | null;
  /** The facets that pass; `null` where all do. */
  facets: string[] | null;
  /** The keys of creation that pass, and the field that holds them. */
  created: (toInstant: ToInstant) => KeyRange;
  createdKey: 'rank_key' | 'created_key';
  /** The condition on `updated_at`; empty where there is none. */
  updated: (toInstant: ToInstant) => Document;
  search: SearchTerms | null;
  /** Values that fields have. */
  where: Document;
  /** Whether `where` leaves few records, found by an index of its own. */
  few: boolean;
}

/** What is asked of a list but the page; without what is not said all records, in their order. */
export type Wanted = Pick<ListRequest, 'sort'> & Partial<ListRequest>;

/** The request for a page. */
export function listRequest(wanted: Wanted & PageRequest & Pick<ListRequest, 'entity'>): ListRequest {
  return {
    arrange: [],
    tree: null,
    facets: null,
    created: () => WHOLE,
    createdKey: 'created_key',
    updated: () => ({}),
    search: null,
    where: {},
    few: false,
    ...wanted,
  };
}

/** The order of a rank tree. */
export function inOrderOf(tree: RankTree): Pick<ListRequest, 'tree' | 'entity' | 'sort'> {
  return { tree, entity: tree.entity, sort: { [tree.keyField]: 1 } };
}

/** The condition of a field that has one of several values; none where none is asked for. */
export function anyOf(field: string, words: readonly string[]): Document {
  return words.length === 0 ? {} : { [field]: { $in: words } };
}

/** What records must be, now that the offset is known in which dates are meant. */
export interface Conditions {
  created: KeyRange;
  updated: Document;
  /** All of them, for the records of one store. */
  match: Document;
}

export function conditionsOf(storeId: string, request: ListRequest, toInstant: ToInstant): Conditions {
  const created = request.created(toInstant);
  const updated = request.updated(toInstant);
  const match = {
    store_id: storeId,
    ...request.where,
    ...(request.facets === null ? {} : { facet: { $in: request.facets } }),
    ...(request.search === null ? {} : searchFilter(request.search)),
    ...keyWithin(request.createdKey, created),
    ...updated,
  };
  return { created, updated, match };
}

/** Whether a range leaves nothing out. */
export function isWhole({ from, to }: KeyRange): boolean {
  return from === '' && to === null;
}
