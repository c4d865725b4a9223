/** Reads one page of the customers that match a search, by name, with their exact number (rules R6.6, R6.7). */
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import { levelPrefix, ofLevel } from '#shared/read-models/rank-tree/nodes.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { compareKeys } from '#shared/read-models/rank-tree/keys.ts';
import { type CountedPage, type PageRequest, type PageRow, skippedBy } from '../read/page.ts';
import type { View } from '../read/shared-reads.ts';
import { type ReadInSnapshot, stampIn, unionWithStamp } from '../read/snapshot.ts';
import { alphanumericOf, digitsOf, foldName } from '#shared/read-models/search-texts.ts';

/** With more uncertain leaves a scan costs no more. */
const MAX_UNCERTAIN = 100;

/**
 * @returns `null` where walking the customers is as good: when they are so few that their tree has no leaves, or when in too many
 * leaves the same customers match by name and by number.
 */
export async function readSearched(
  read: ReadInSnapshot,
  view: View,
  terms: SearchTerms,
  request: PageRequest,
): Promise<CountedPage | null> {
  const { leaves, stamp } = await searchLeaves(read, view, terms);
  if (stamp?.ranks?.customer?.leaves === undefined) return null;
  const uncertain = leaves.filter((leaf) => leaf.uncertain);
  if (uncertain.length > MAX_UNCERTAIN) return null;
  const exact = await readInLeaves<{ leaf: string; hits: number }>(read, view, terms, uncertain, ({ boundary }) => [
    { $count: 'hits' },
    { $set: { leaf: { $literal: boundary } } },
  ]);
  const hits = new Map(exact.map((row) => [row.leaf, row.hits]));
  for (const leaf of uncertain) leaf.hits = hits.get(leaf.boundary) ?? 0;

  const count = leaves.reduce((sum, leaf) => sum + leaf.hits, 0);
  const { shown, skip } = leavesOfPage(leaves, skippedBy(request), request.pageSize);
  const rows = await readInLeaves<PageRow & { key: string }>(read, view, terms, shown, () => [
    { $project: { _id: 0, key: `$${RANK_TREES.customer.keyField}`, summary: 1, offset: 1 } },
  ]);
  return {
    rows: rows.toSorted((a, b) => compareKeys(a.key, b.key)).slice(skip, skip + request.pageSize),
    stamp,
    count,
  };
}

/** The leaves that the records of a page lie in, and how many matches of the first come before it. */
function leavesOfPage(
  leaves: readonly SearchedLeaf[],
  skip: number,
  pageSize: number,
): { shown: SearchedLeaf[]; skip: number } {
  let before = 0;
  let skipped = 0;
  const shown: SearchedLeaf[] = [];
  for (const leaf of leaves) {
    if (before >= skip + pageSize) break;
    if (before + leaf.hits > skip) {
      if (shown.length === 0) skipped = skip - before;
      shown.push(leaf);
    }
    before += leaf.hits;
  }
  return { shown, skip: skipped };
}

/** Reads the customers of some leaves that match, in one round trip; `stages` say what is wanted of them. */
async function readInLeaves<T extends Document>(
  read: ReadInSnapshot,
  { storeId }: View,
  terms: SearchTerms,
  leaves: readonly SearchedLeaf[],
  stages: (leaf: SearchedLeaf) => Document[],
): Promise<T[]> {
  const { collection, keyField, keyIndex } = RANK_TREES.customer;
  const [first, ...others] = leaves.map((leaf) => [
    { $match: { store_id: storeId, [keyField]: { $gte: leaf.boundary } } },
    { $sort: { [keyField]: 1 } },
    { $limit: leaf.total },
    { $match: searchFilter(terms) },
    ...stages(leaf),
  ]);
  if (first === undefined) return [];
  const unionPipelines = others.map((pipeline) => ({ $unionWith: { coll: collection, pipeline } }));
  return read<T>(collection, [...first, ...unionPipelines], keyIndex);
}

interface SearchedLeaf {
  boundary: string;
  /** How many customers it covers. */
  total: number;
  /** How many of them match. */
  hits: number;
  /** Whether `hits` may count somebody twice, or in vain. */
  uncertain: boolean;
}

/** The leaves with matches, in order, and the store's stamp. */
async function searchLeaves(
  read: ReadInSnapshot,
  view: View,
  { name, digits, key }: SearchTerms,
): Promise<{ leaves: SearchedLeaf[]; stamp: Stamp | null }> {
  const found: Document[] = [];
  if (name !== null) found.push(holds('$texts.names', name));
  if (digits !== null) found.push(holds('$texts.numbers', digits));
  if (key !== null) found.push(holds('$texts.numbers', key));
  const rows = await read<{ at?: string; total: number; names: number; numbers: number }>(RANK_NODES, [
    { $match: { ...ofLevel('customer', view.storeId, 'leaf'), $expr: { $or: found } } },
    { $sort: { _id: 1 } },
    {
      $project: {
        _id: 0,
        at: '$_id',
        total: 1,
        names: name === null ? { $literal: 0 } : piecesWith('$texts.names', name),
        numbers: digits === null ? { $literal: 0 } : piecesWith('$texts.numbers', digits),
      },
    },
    unionWithStamp(view),
  ]);
  const { length } = levelPrefix('customer', view.storeId, 'leaf');
  const leaves = rows.flatMap(({ at, total, names, numbers }): SearchedLeaf | [] =>
    at === undefined
      ? []
      : {
          boundary: at.slice(length),
          total,
          hits: names + numbers,
          // Who matches by name and by number is one.
          uncertain: key !== null || (names > 0 && numbers > 0),
        },
  );
  return { leaves, stamp: stampIn(rows) };
}

/** Whether a text holds a term; a third of what a regular expression takes (decision 0018). */
function holds(text: string, term: string): Document {
  return { $gte: [{ $indexOfBytes: [text, { $literal: term }] }, 0] };
}

/**
 * In how many pieces of a text a term occurs. Split at the term, each piece that holds it ends in exactly one of the parts that
 * follow an occurrence: the one behind its last.
 */
function piecesWith(text: string, term: string): Document {
  const behind = { $slice: [{ $split: [text, { $literal: term }] }, 1, MAX_PARTS] };
  return { $size: { $filter: { input: behind, cond: { $ne: [{ $indexOfBytes: ['$$this', '\0'] }, -1] } } } };
}

const MAX_PARTS = 100_000_000;

export interface SearchTerms {
  /** A part of the folded name; `null` where no name can hold it. */
  name: string | null;
  /** A part of the document's or the phone's digits. */
  digits: string | null;
  /** A part of the document's letters and digits. */
  key: string | null;
}

/** The terms of a text; `null` when it holds nothing that could differ, and every customer matches. */
export function searchTerms(text: string): SearchTerms | null {
  const name = foldName(text);
  if (name === '') return null;
  const isNumber = /^[\s+\-./()0-9]*[0-9][\s+\-./()0-9]*$/.test(text);
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
  // A name ends at NUL; the id behind it is not searched.
  if (name !== null) fields.push({ rank_key: { $regex: `^[^\\x00]*?${escapePattern(name)}[^\\x00]*\\x00` } });
  if (digits !== null) {
    fields.push({ document_digits: { $regex: digits } }, { phone_digits: { $regex: digits } });
  }
  if (key !== null) fields.push({ document_key: { $regex: escapePattern(key) } });
  return fields.length === 0 ? { _id: { $in: [] } } : { $or: fields };
}

/** A pattern that matches a text as it is. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`);
}
