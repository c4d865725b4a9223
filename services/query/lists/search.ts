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
import { TOGETHER, type View } from '../read/shared-reads.ts';
import {
  inSnapshot,
  lastStamp,
  type ReadInSnapshot,
  type Source,
  stampsIn,
  united,
  unionWithStamps,
} from '../read/snapshot.ts';
import { alphanumericOf, digitsOf, foldName } from '#shared/read-models/search-texts.ts';

/** With more uncertain leaves, a scan is as fast. */
const MAX_UNCERTAIN = 100;
/** A store with more leaves is searched alone: others would wait for it. */
const MAX_LEAVES_TOGETHER = 200;

interface Search extends PageRequest {
  storeId: string;
  terms: SearchTerms;
}

/**
 * @returns `null` if a scan is as fast: the store has too few customers for leaves, or too many
 * leaves are uncertain.
 */
export async function readSearched(
  view: View,
  terms: SearchTerms,
  { page, pageSize }: PageRequest,
): Promise<CountedPage | null> {
  const { storeId, shared, withDeadline } = view;
  const id = JSON.stringify({ storeId, terms, page, pageSize } satisfies Search);
  const leaves = lastStamp(view, storeId)?.ranks?.customer?.leaves ?? Number.POSITIVE_INFINITY;
  if (view.alone !== undefined || leaves > MAX_LEAVES_TOGETHER) {
    return shared.alone(view, async (own) => (await readSearches(own, [id])).get(id) ?? null);
  }
  const read = shared.together('search', TOGETHER, (ids) => readSearches(shared.source, ids));
  return withDeadline((signal) => read(id, signal));
}

function readSearches(source: Source, ids: readonly string[]): Promise<Map<string, CountedPage>> {
  const searches = ids.map((id) => JSON.parse(id) as Search);
  return inSnapshot(source, async ({ read }) => {
    const { leaves, stamps } = await searchLeaves(read, searches);
    const found = searches.flatMap((search, of) => {
      const own = leaves.filter((leaf) => leaf.of === of);
      const stamp = stamps.get(search.storeId);
      const uncertain = own.filter((leaf) => leaf.isUncertain);
      if (stamp?.ranks?.customer?.leaves === undefined || uncertain.length > MAX_UNCERTAIN)
        return [];
      return { id: ids[of] ?? '', search, leaves: own, uncertain, stamp };
    });

    const uncertain = found.flatMap(({ search, uncertain }) =>
      uncertain.map((leaf) => ({ search, leaf })),
    );
    const exact = await readInLeaves<{ of: number; hits: number }>(
      read,
      uncertain.map(({ search, leaf }) => [
        ...fromLeaf(search, leaf),
        { $limit: leaf.total },
        { $match: searchFilter(search.terms) },
        { $count: 'hits' },
      ]),
      (of) => [{ $project: { hits: 1, ...of } }],
    );
    for (const { leaf } of uncertain) leaf.count = 0;
    for (const { of, hits } of exact) {
      const leaf = uncertain[of]?.leaf;
      if (leaf !== undefined) leaf.count = hits;
    }

    const segments = found.flatMap(({ id, search, leaves }) =>
      segmentsOf(leaves, skippedBy(search), search.pageSize).map((segment) => ({
        id,
        search,
        ...segment,
      })),
    );
    const rows = await readInLeaves<PageRow & { of: number }>(
      read,
      // The leaf holds all matches of its segment: the scan never reaches the next leaf.
      segments.map(({ search, part, skip, limit }) => [
        ...fromLeaf(search, part, searchFilter(search.terms)),
        { $skip: skip },
        { $limit: limit },
      ]),
      (of) => shownOf(source, 'customer', of),
    );
    const rowsOf = Map.groupBy(rows, ({ of }) => segments[of]?.id);
    return new Map(
      found.map(({ id, leaves, stamp }) => [
        id,
        {
          rows: rowsOf.get(id) ?? [],
          stamp,
          count: leaves.reduce((sum, { count }) => sum + count, 0),
        },
      ]),
    );
  });
}

/** The customers from the beginning of a leaf that match a filter, in order. */
function fromLeaf(
  { storeId }: Search,
  { boundary }: SearchedLeaf,
  filter: Document = {},
): Document[] {
  const { keyField } = RANK_TREES.customer;
  return [
    { $match: { store_id: storeId, [keyField]: { $gte: boundary }, ...filter } },
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
  return read<T>(collection, united(collection, marked), keyIndex);
}

interface SearchedLeaf {
  /** The index of its search. */
  of: number;
  boundary: string;
  /** How many customers it covers. */
  total: number;
  /** How many of them match. */
  count: number;
  /** Whether `count` may be too high: a customer may match by name and by number. */
  isUncertain: boolean;
}

/** The leaves with matches, in order, and the stores' stamps. */
async function searchLeaves(
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
    ...united(RANK_NODES, pipelines),
    unionWithStamps(...stores),
  ]);
  const leaves = rows.flatMap((row): SearchedLeaf | [] => {
    const search = 'of' in row ? searches[row.of] : undefined;
    if (!('of' in row) || search === undefined) return [];
    const { of, at, total, names, numbers } = row;
    return {
      of,
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

export interface SearchTerms {
  /** A part of the folded name; `null` if no name can hold it. */
  name: string | null;
  /** A part of the document's or the phone's digits. */
  digits: string | null;
  /** A part of the document's letters and digits. */
  key: string | null;
}

/** The terms of a text; `null` if nothing is left of it, so that every customer matches. */
export function searchTerms(text: string): SearchTerms | null {
  const name = foldName(text);
  if (name === '') return null;
  // Pasted numbers have dashes and marks of direction of their own.
  const isNumber = /^[\s+./()\p{Pd}\p{Cf}0-9]*[0-9][\s+./()\p{Pd}\p{Cf}0-9]*$/u.test(text);
  const isKey = /\p{L}/u.test(text) && /\p{Nd}/u.test(text);
  return {
    name: name.includes('\0') ? null : name,
    digits: isNumber ? digitsOf(text) : null,
    key: isKey ? alphanumericOf(text) : null,
  };
}

/** The filter of the customers that match. */
export function searchFilter({ name, digits, key }: SearchTerms): Document {
  const fields: Document[] = [];
  // A rank key holds one NUL, between the name and the id: the id is not searched.
  if (name !== null) fields.push({ rank_key: { $regex: `${escapePattern(name)}[^\\x00]*\\x00` } });
  if (digits !== null) {
    fields.push({ document_digits: { $regex: digits } }, { phone_digits: { $regex: digits } });
  }
  if (key !== null) fields.push({ document_key: { $regex: escapePattern(key) } });
  return fields.length === 0 ? { _id: { $in: [] } } : { $or: fields };
}

/** A pattern that matches a text as it is. */
function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`);
}
