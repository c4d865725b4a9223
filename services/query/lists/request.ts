/**
 * The request for a list, and the strategies that read it. A bound of time is a whole second of
 * local time, as if it were UTC, and inclusive.
 */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities.ts';
import type { Stamp } from '#shared/read-models/collections.ts';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import { type KeyRange, timeRange } from '#shared/read-models/rank-tree/keys.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';
import type { createdRange, updatedRange } from '../parameters/filters.ts';
import type { Parameters, Values } from '../parameters/parameter.ts';
import { isWhole, keyWithin, within } from '../rank-tree/read-tree.ts';
import type { CountedPage, IndexScan, PageRequest, Sort } from '../read/page.ts';
import type { View } from '../read/shared-reads.ts';
import { offsetOf } from '../read/snapshot.ts';
import { searchFilter, type SearchTerms } from './search-terms.ts';

/** One way to read a page. All return the same page from one snapshot; they differ in cost. */
export interface ListStrategy {
  /** What it reads is known to be little. Any other may cost more in a larger store: it runs alone. */
  isCheap?: true;
  suits: (query: ListQuery) => boolean;
  /** The page; `null` if it would cost too much after all. */
  read: (view: View, query: ListQuery) => Promise<CountedPage | null>;
}

export interface List {
  entity: EntityName;
  sort: Sort;
  sortKey?: IndexScan['sortKey'];
  /** The index in this order, and the one that has it for each facet. */
  index: string;
  facetIndex?: string;
  /** The tree in whose order it is. Lists without one stay short. */
  tree?: RankTree;
  /** The tree in the order of creation. */
  creation?: RankTree;
  /** It is of few records as a rule: of one customer or one category. */
  isSelective?: true;
  /** The first that suits and does not give up reads the page. */
  strategies: readonly ListStrategy[];
}

export interface Wanted {
  list: List;
  /** The facets that pass; `null` if all do. */
  facets?: string[] | null;
  bounds?: Partial<Values<typeof createdRange & typeof updatedRange>>;
  search?: SearchTerms | null;
  /** Conditions on other fields; `null` if there is none. */
  where?: Document | null;
}

export interface ListRequest extends Wanted, PageRequest {}

type Condition = 'where' | 'facets' | 'search' | 'created' | 'updated';

/** What a request limits, and how. */
type Conditions = Partial<Record<Condition, Document>>;

/** A request to one store. */
export interface ListQuery extends PageRequest {
  list: List;
  conditions: Conditions;
  facets: string[] | null;
  /** The keys of creation that pass. */
  created: KeyRange;
  search: SearchTerms | null;
  /** All conditions, and the store. */
  match: Document;
  /** The one that was read last, if any: it may be outdated. */
  stamp: Stamp | null;
}

const SECOND = 1_000;

/** Shifts the bounds of a request by the offset of a stamp. */
export function queryOf(request: ListRequest, storeId: string, stamp: Stamp | null): ListQuery {
  const { list, page, pageSize, facets = null, bounds = {}, search = null, where } = request;
  const shift = offsetMilliseconds(offsetOf(stamp));
  const instantOf = (local: number | null = null) => (local === null ? null : local - shift);
  // What happened within the last second, at .999 too, belongs to it.
  const endOf = (local: number | null = null) => instantOf(local === null ? null : local + SECOND);
  const dateOf = (instant: number | null) => (instant === null ? null : new Date(instant));
  const created = timeRange(instantOf(bounds.created_from), endOf(bounds.created_to));
  const from = dateOf(instantOf(bounds.updated_from));
  const before = dateOf(endOf(bounds.updated_to));
  const conditions: Conditions = {
    ...(where && { where }),
    ...(facets && { facets: { facet: { $in: facets } } }),
    ...(search && { search: searchFilter(search) }),
    ...(list.creation && !isWhole(created) && { created: keyWithin(list.creation, created) }),
    ...((from ?? before) && { updated: { updated_at: within(from, before) } }),
  };
  const match = Object.assign({ store_id: storeId }, ...Object.values(conditions)) as Document;
  return { list, page, pageSize, conditions, facets, created, search, match, stamp };
}

/** Whether a request limits nothing but this. */
export function limitsOnly({ conditions }: ListQuery, ...allowed: Condition[]): boolean {
  return Object.keys(conditions).every((condition) => allowed.some((one) => one === condition));
}

/** The conditions on stored fields; `null` without any. */
export function conditionsOf<P extends Parameters>(filters: P, values: Values<P>): Document | null {
  const given = Object.entries(filters).flatMap(([name, { isField }]) => {
    const value: unknown = values[name];
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== null;
    if (!isField || !isGiven) return [];
    return [[name, Array.isArray(value) ? { $in: value } : value]];
  });
  return given.length === 0 ? null : (Object.fromEntries(given) as Document);
}
