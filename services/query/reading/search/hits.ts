/** How many customers of each leaf match a search: counted by MongoDB in the leaves' texts. */
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import { nodesBetween } from '#shared/read-models/rank-tree/nodes.ts';
import { searchedIn } from '#shared/read-models/search-texts.ts';
import { type ReadShared, stampIn, unionWithStamp, type View } from '../view.ts';
import { escapePattern, matchesTerms, type SearchTerms } from './terms.ts';

export interface LeafHits {
  /** The leaf's `_id`. */
  leaf: string;
  hits: number;
}

/** The leaves with matches, in order, and the store's stamp. */
export async function countHits(
  read: ReadShared,
  view: View,
  terms: SearchTerms,
): Promise<{ leaves: LeafHits[]; stamp: Stamp | null }> {
  const { name, digits, key } = terms;
  const found: Document[] = [];
  if (name !== null) found.push({ 'texts.names': { $regex: escapePattern(name) } });
  if (digits !== null) found.push({ 'texts.numbers': { $regex: digits } });
  if (key !== null) found.push({ 'texts.lines': { $regex: escapePattern(key) } });
  const rows = await read<{ leaf?: string; names?: number; numbers?: number }>(RANK_NODES, [
    {
      $match:
        found.length === 0
          ? { _id: { $in: [] } }
          : { ...nodesBetween('customer', view.storeId, 'leaf', '', null), $or: found },
    },
    { $sort: { _id: 1 } },
    {
      $project: {
        _id: 0,
        leaf: '$_id',
        names: name === null ? { $literal: 0 } : piecesWith('$texts.names', name),
        numbers: digits === null ? { $literal: 0 } : piecesWith('$texts.numbers', digits),
      },
    },
    unionWithStamp(view),
  ]);
  const leaves = rows.flatMap(({ leaf, names = 0, numbers = 0 }) =>
    leaf === undefined
      ? []
      : { leaf, hits: names + numbers, doubtful: key !== null || (names > 0 && numbers > 0) },
  );
  // Who matches by more than one field counts once.
  const doubtful = leaves.filter((each) => each.doubtful).map(({ leaf }) => leaf);
  const lines = await readLines(read, view, doubtful);
  for (const each of leaves) {
    if (each.doubtful) each.hits = matchingIn(lines.get(each.leaf) ?? '', terms).length;
  }
  return { leaves: leaves.filter(({ hits }) => hits > 0), stamp: stampIn(rows) };
}

/** The lines of some leaves, by the leaf's `_id`. */
export async function readLines(
  read: ReadShared,
  { storeId }: View,
  leaves: string[],
): Promise<Map<string, string>> {
  if (leaves.length === 0) return new Map();
  const rows = await read<{ leaf: string; lines: string }>(RANK_NODES, [
    { $match: { store_id: storeId, _id: { $in: leaves } } },
    { $project: { _id: 0, leaf: '$_id', lines: '$texts.lines' } },
  ]);
  return new Map(rows.map(({ leaf, lines }) => [leaf, lines]));
}

/** The customers of a leaf's lines that match. */
export function matchingIn(lines: string, terms: SearchTerms) {
  return searchedIn(lines).filter((customer) => matchesTerms(terms, customer));
}

/**
 * In how many pieces of a text a term occurs. Split at the term, each piece that holds it ends in exactly one of the parts that
 * follow an occurrence: the one behind its last.
 */
function piecesWith(text: string, term: string): Document {
  const behind = { $slice: [{ $split: [text, { $literal: term }] }, 1, MOST_PARTS] };
  return { $size: { $filter: { input: behind, cond: { $ne: [{ $indexOfBytes: ['$$this', '\0'] }, -1] } } } };
}

const MOST_PARTS = 100_000_000;
