/**
 * The request for a list, and the strategies that read it: chosen from the request and the stamp
 * that was read last. Pure. Bounds of time are whole seconds of local time, both inclusive.
 */
import { skippedBy, type PageRequest, type Sort } from '../read/page.ts';
import { countFromStamp, isShallow, keyWithin } from '../rank-tree/read-tree.ts';
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities.ts';
import type { Stamp } from '#shared/read-models/collections.ts';
import { type KeyRange, WHOLE, timeRange } from '#shared/read-models/rank-tree/keys.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';
import { searchFilter, type SearchTerms } from './search.ts';
import type { createdRange, updatedRange } from '../parameters/filters.ts';
import type { Values } from '../parameters/parameter.ts';

/** Each returns the same page from one snapshot; they differ in cost. */
export type ListStrategy =
  | 'shared-first-page' // the first page, in one read with those of other stores (decision 0026)
  | 'scan-first-pages' // an index in the order of the list; the stamp has the count
  | 'layout' // products by the layout of their categories, whose order no index has (0043)
  | 'updated-window' // what was updated in a short window, sorted
  | 'updated-among-few' // what was updated, among few records that the other conditions find
  | 'updated-in-long' // what was updated in a long window: counted by an index alone, then scanned or sorted
  | 'layout-updated' // products updated in a long window, counted by category
  | 'created-window' // customers created in a short window, sorted
  | 'created-within-leaf' // the same, if the window holds no more than a leaf of the rank tree
  | 'created-by-name' // customers created in a long window, counted by the tree of creation (0033)
  | 'search-leaves' // the texts of leaves, which say where matches are (0018)
  | 'scan-if-shown' // a first page that most likely shows all matches: nothing is counted
  | 'scan-if-small' // a range that holds no more than a leaf of the rank tree
  | 'rank-tree' // the nodes that count the range and find the page: one or two round trips at any depth (0033)
  | 'scan-tree-order' // all matches, in the order of the tree: the store is too small to have one
  | 'scan'; // all matches, counted

export interface PlanContext {
  conditions: Conditions;
  /** The one that was read last, if any. */
  stamp: Stamp | null;
  /** Whether records may have to be redacted: a shared page is not. */
  redactErased: boolean;
}

/**
 * The strategies to try, in this order. One that would cost too much gives up; the last never does.
 */
export function planList(request: ListRequest, context: PlanContext): readonly ListStrategy[] {
  const { tree, sortKeyStages, search } = request;
  const { created, updated } = context.conditions;
  // No index has the order of products: that of their categories.
  const isArranged = sortKeyStages.length > 0;
  const isCreatedWindow =
    request.createdKey === 'created_key' && !isWhole(created) && tree !== null;
  if (Object.keys(updated).length > 0) {
    if (isArranged) return ['updated-window', 'layout-updated'];
    const few: ListStrategy[] = mayBeFew(request, context) ? ['updated-among-few'] : [];
    const createdWindow: ListStrategy[] = isCreatedWindow ? ['created-window'] : [];
    return [...few, 'updated-window', ...createdWindow, 'updated-in-long'];
  }
  if (search !== null) {
    if (isWhole(created)) return planSearch(request, context);
    return isCreatedWindow ? ['created-window', 'scan'] : ['scan'];
  }
  if (isCreatedWindow) return ['created-within-leaf', 'created-by-name'];
  if (Object.keys(request.where).length > 0) {
    const isTried = tree !== null && request.selectiveIndex !== undefined && request.page === 1;
    return isTried ? ['scan-if-shown', 'scan'] : ['scan'];
  }
  if (!isWhole(created)) return tree === null ? ['scan'] : planRange(request, context);
  return planUnbounded(request, context, isArranged);
}

/**
 * A window, or what other conditions find, with more records is not read to be filtered and sorted.
 */
export const MAX_FILTERED = 2_000;

/** Whether the index in the order of the list may find few records. */
function mayBeFew(request: ListRequest, { conditions, stamp }: PlanContext): boolean {
  const { tree, facets, createdKey, selectiveIndex } = request;
  if (selectiveIndex !== undefined) return true;
  if (createdKey === 'rank_key' && !isWhole(conditions.created)) return true;
  return (
    tree !== null && facets !== null && countFromStamp(stamp, { ...request, tree }) <= MAX_FILTERED
  );
}

/** Customers by a text. A store with few has no leaves to search. */
function planSearch({ tree, page }: ListRequest, { stamp }: PlanContext): readonly ListStrategy[] {
  if (tree !== null && !isWithoutTree(tree, stamp)) return ['search-leaves', 'scan'];
  return page === 1 ? ['scan-if-shown', 'scan'] : ['scan'];
}

/** Whether a store is known to be too small for a tree. */
function isWithoutTree({ name }: RankTree, stamp: Stamp | null): boolean {
  return stamp !== null && stamp.ranks?.[name]?.levels === undefined;
}

/** All records, or those of some facets. */
function planUnbounded(
  request: ListRequest,
  context: PlanContext,
  isArranged: boolean,
): readonly ListStrategy[] {
  const { tree, facets, page } = request;
  if (isArranged && facets === null) return ['layout'];
  const shared: ListStrategy[] =
    facets === null && page === 1 && !context.redactErased ? ['shared-first-page'] : [];
  const isNearFront = tree === null || isShallow({ ...request, tree });
  return [
    ...shared,
    ...(isNearFront ? ['scan-first-pages' as const] : planRange(request, context)),
  ];
}

/** A range of the order of a rank tree. */
function planRange(
  request: ListRequest,
  { conditions, stamp }: PlanContext,
): readonly ListStrategy[] {
  const { tree, facets, page } = request;
  const isRange = !isWhole(conditions.created);
  if (tree === null || isWithoutTree(tree, stamp)) {
    return facets !== null && isRange && page === 1
      ? ['scan-if-shown', 'scan-tree-order']
      : ['scan-tree-order'];
  }
  const mayBeSmall = isRange && skippedBy(request) <= tree.leafRecords;
  return [...(mayBeSmall ? ['scan-if-small' as const] : []), 'rank-tree'];
}

/** The order of short lists by time; ids break ties. */
export const NEWEST_FIRST = { created_at: -1, _id: 1 } as const;

export interface ListRequest extends PageRequest {
  entity: EntityName;
  sort: Sort;
  /**
   * Stages that add the sort key, where records do not hold it: products stand in the order of
   * their categories.
   */
  sortKeyStages: Document[];
  /** The rank tree in whose order the list is; `null` for lists that stay short. */
  tree: RankTree | null;
  /** The facets that pass; `null` if all do. */
  facets: string[] | null;
  /** The keys of creation that pass, and the field that holds them. */
  created: (toInstant: ToInstant) => KeyRange;
  createdKey: 'rank_key' | 'created_key';
  /** The condition on `updated_at`; empty if there is none. */
  updated: (toInstant: ToInstant) => Document;
  search: SearchTerms | null;
  /** Conditions on other fields. */
  where: Document;
  /** The index that finds what matches `where` and `facets`, in the order of the list. */
  selectiveIndex?: string;
}

/** A request without its page. What it leaves out has a default: all records. */
export type Wanted = Pick<ListRequest, 'sort'> & Partial<ListRequest>;

/** The request for a page. */
export function listRequest(
  wanted: Wanted & PageRequest & Pick<ListRequest, 'entity'>,
): ListRequest {
  return {
    sortKeyStages: [],
    tree: null,
    facets: null,
    created: () => WHOLE,
    createdKey: 'created_key',
    updated: () => ({}),
    search: null,
    where: {},
    ...wanted,
  };
}

/** The order of a rank tree. */
export function inOrderOf(tree: RankTree): Pick<ListRequest, 'tree' | 'entity' | 'sort'> {
  return { tree, entity: tree.entity, sort: { [tree.keyField]: 1 } };
}

/** The condition that a field has one of some values; no condition without values. */
export function anyOf(field: string, words: readonly string[]): Document {
  return words.length === 0 ? {} : { [field]: { $in: words } };
}

/** The conditions of a request, its bounds of time shifted by the store's offset. */
export interface Conditions {
  created: KeyRange;
  updated: Document;
  /** All but that on `updated_at`. */
  others: Document;
  /** All of them, and the store. */
  match: Document;
}

export function conditionsOf(
  storeId: string,
  request: ListRequest,
  toInstant: ToInstant,
): Conditions {
  const created = request.created(toInstant);
  const updated = request.updated(toInstant);
  const others = {
    ...request.where,
    ...(request.facets === null ? {} : { facet: { $in: request.facets } }),
    ...(request.search === null ? {} : searchFilter(request.search)),
    ...keyWithin(request.createdKey, created),
  };
  return { created, updated, others, match: { store_id: storeId, ...others, ...updated } };
}

/** Whether a range leaves nothing out. */
export function isWhole({ from, to }: KeyRange): boolean {
  return from === '' && to === null;
}

/** Turns a local date-time, read as if it were UTC, into its instant: milliseconds since 1970. */
export type ToInstant = (local: number) => number;

const SECOND = 1_000;

/** The filter of `updated_at` between two bounds, either of which may be open. */
export function updatedBetween({
  updated_from: from,
  updated_to: to,
}: Values<typeof updatedRange>) {
  return (toInstant: ToInstant): Document => {
    if (from === null && to === null) return {};
    return {
      updated_at: {
        ...(from === null ? {} : { $gte: new Date(toInstant(from)) }),
        // What happened within the last second, at .999 too, belongs to it.
        ...(to === null ? {} : { $lt: new Date(toInstant(to + SECOND)) }),
      },
    };
  };
}

/** The sort keys of what was created between two bounds, in a list with the newest first. */
export function createdBetween({
  created_from: from,
  created_to: to,
}: Values<typeof createdRange>) {
  return (toInstant: ToInstant): KeyRange =>
    timeRange(from === null ? null : toInstant(from), to === null ? null : toInstant(to + SECOND));
}
