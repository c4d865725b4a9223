/**
 * Searches customers (rules R6.6, R6.7): a page by name, and the exact count. The searches of
 * several requests share one snapshot: first the leaves of each are read, then the customers of the
 * pages.
 */
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import { levelPrefix, ofLevel } from '#shared/read-models/rank-tree/nodes.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import {
  type CountedPage,
  type PageRequest,
  type PageRow,
  segmentsOf,
  shownOf,
  skippedBy,
} from '../read/page.ts';
import { SMALL_READS } from '../read/shared-reads.ts';
import {
  inSnapshot,
  lastStamp,
  type ReadInSnapshot,
  type Source,
  stampsIn,
  unionOf,
  unionWithStamps,
} from '../read/snapshot.ts';
import { limitsOnly, type ListStrategy } from './request.ts';
import { isSmall } from './scans.ts';
import { searchFilter, type SearchTerms } from './search-terms.ts';

/** With more uncertain leaves, a scan is as fast. */
const MAX_UNCERTAIN = 100;
/** A store with more leaves is searched alone: others would wait for it. */
const MAX_LEAVES_TOGETHER = 200;

interface Search extends PageRequest {
  storeId: string;
  terms: SearchTerms;
}

/**
 * Customers by a text: the texts of leaves say where matches are (0018). Gives up if a scan is as
 * fast: the store has too few customers for leaves, or too many leaves are uncertain.
 */
export const searchLeaves: ListStrategy = {
  isCheap: true,
  suits: (query) => query.search !== null && limitsOnly(query, 'search') && !isSmall(query),
  async read(view, { search: terms, page, pageSize }) {
    if (terms === null) return null;
    const { storeId, shared } = view;
    const search: Search = { storeId, terms, page, pageSize };
    const leaves = lastStamp(view, storeId)?.ranks?.customer?.leaves ?? Number.POSITIVE_INFINITY;
    const options = { ...SMALL_READS, isLarge: leaves > MAX_LEAVES_TOGETHER };
    return shared.readWithOthers(view, 'search', search, readSearches, options);
  },
};

function readSearches(
  source: Source,
  searches: readonly Search[],
): Promise<(CountedPage | undefined)[]> {
  return inSnapshot(source, async ({ read }) => {
    const { leaves, stamps } = await findLeaves(read, searches);
    const found = searches.flatMap((search) => {
      const own = leaves.filter((leaf) => leaf.search === search);
      const stamp = stamps.get(search.storeId);
      const uncertain = own.filter((leaf) => leaf.isUncertain);
      if (stamp?.ranks?.customer?.leaves === undefined || uncertain.length > MAX_UNCERTAIN)
        return [];
      return { search, leaves: own, uncertain, stamp };
    });

    const uncertain = found.flatMap((one) => one.uncertain);
    const exact = await readInLeaves<{ of: number; hits: number }>(
      read,
      uncertain.map((leaf) => [
        ...fromLeaf(leaf),
        { $limit: leaf.total },
        { $match: searchFilter(leaf.search.terms) },
        { $count: 'hits' },
      ]),
      (of) => [{ $project: { hits: 1, ...of } }],
    );
    for (const leaf of uncertain) leaf.count = 0;
    for (const { of, hits } of exact) {
      const leaf = uncertain[of];
      if (leaf !== undefined) leaf.count = hits;
    }

    const segments = found.flatMap(({ search, leaves }) =>
      segmentsOf(leaves, skippedBy(search), search.pageSize),
    );
    const rows = await readInLeaves<PageRow & { of: number }>(
      read,
      // The leaf holds all matches of its segment: the scan never reaches the next leaf.
      segments.map(({ part, skip, limit }) => [
        ...fromLeaf(part, searchFilter(part.search.terms)),
        { $skip: skip },
        { $limit: limit },
      ]),
      (of) => shownOf(source, 'customer', of),
    );
    const rowsOf = Map.groupBy(rows, ({ of }) => segments[of]?.part.search);
    const pages = new Map(
      found.map(({ search, leaves, stamp }): [Search, CountedPage] => {
        const count = leaves.reduce((sum, leaf) => sum + leaf.count, 0);
        return [search, { rows: rowsOf.get(search) ?? [], stamp, count }];
      }),
    );
    return searches.map((search) => pages.get(search));
  });
}

/** The customers from the beginning of a leaf that match a filter, in order. */
function fromLeaf({ search, boundary }: SearchedLeaf, filter: Document = {}): Document[] {
  const { keyField } = RANK_TREES.customer;
  return [
    { $match: { store_id: search.storeId, [keyField]: { $gte: boundary }, ...filter } },
    { $sort: { [keyField]: 1 } },
  ];
}

/** Runs pipelines on customers in one round trip. Each row names its pipeline in `of`. */
async function readInLeaves<T extends { of: number }>(
  read: ReadInSnapshot,
  pipelines: readonly Document[][],
  shownWith: (of: object) => Document[],
): Promise<T[]> {
  if (pipelines.length === 0) return [];
  const { collection, keyIndex } = RANK_TREES.customer;
  const marked = pipelines.map((pipeline, of) => [
    ...pipeline,
    ...shownWith({ of: { $literal: of } }),
  ]);
  return read<T>(collection, unionOf(collection, marked), keyIndex);
}

interface SearchedLeaf {
  search: Search;
  boundary: string;
  /** How many customers it covers. */
  total: number;
  /** How many of them match. */
  count: number;
  /** Whether `count` may be too high: a customer may match by name and by number. */
  isUncertain: boolean;
}

/** The leaves with matches, in order, and the stores' stamps. */
async function findLeaves(
  read: ReadInSnapshot,
  searches: readonly Search[],
): Promise<{ leaves: SearchedLeaf[]; stamps: ReadonlyMap<string, Stamp> }> {
  type Row = { of: number; at: string; total: number; names: number; numbers: number };
  const pipelines = searches.map(({ storeId, terms: { name, digits, key } }, of) => {
    const found: Document[] = [];
    if (name !== null) found.push(holds('$texts.names', name));
    if (digits !== null) found.push(holds('$texts.numbers', digits));
    if (key !== null) found.push(holds('$texts.numbers', key));
    return [
      { $match: { ...ofLevel('customer', storeId, 'leaf'), $expr: { $or: found } } },
      { $sort: { _id: 1 } },
      {
        $project: {
          _id: 0,
          of: { $literal: of },
          at: '$_id',
          total: 1,
          names: name === null ? { $literal: 0 } : piecesWith('$texts.names', name),
          numbers: digits === null ? { $literal: 0 } : piecesWith('$texts.numbers', digits),
        },
      },
    ];
  });
  const stores = new Set(searches.map(({ storeId }) => storeId));
  const rows = await read<Row | Stamp>(RANK_NODES, [
    ...unionOf(RANK_NODES, pipelines),
    unionWithStamps(...stores),
  ]);
  const leaves = rows.flatMap((row): SearchedLeaf | [] => {
    const search = 'of' in row ? searches[row.of] : undefined;
    if (!('of' in row) || search === undefined) return [];
    const { at, total, names, numbers } = row;
    return {
      search,
      boundary: at.slice(levelPrefix('customer', search.storeId, 'leaf').length),
      total,
      count: names + numbers,
      isUncertain: search.terms.key !== null || (names > 0 && numbers > 0),
    };
  });
  return { leaves, stamps: stampsIn(rows) };
}

/** Whether a text holds a term. A regular expression takes three times as long (decision 0018). */
function holds(text: string, term: string): Document {
  return { $gte: [{ $indexOfBytes: [text, { $literal: term }] }, 0] };
}

/**
 * In how many pieces of a text, each ended by NUL, a term occurs. The text is split at the term: of
 * the parts after an occurrence, exactly one for each such piece holds a NUL, the part after its
 * last occurrence.
 */
function piecesWith(text: string, term: string): Document {
  const behind = { $slice: [{ $split: [text, { $literal: term }] }, 1, MAX_PARTS] };
  return {
    $size: { $filter: { input: behind, cond: { $ne: [{ $indexOfBytes: ['$$this', '\0'] }, -1] } } },
  };
}

const MAX_PARTS = 100_000_000;
