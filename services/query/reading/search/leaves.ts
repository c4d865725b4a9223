/** The leaves in which a search finds somebody, and how many: counted by MongoDB in the leaves' texts. */
import type { Document } from 'mongodb';
import { RANK_NODES, type Stamp } from '#shared/read-models/collections.ts';
import { levelPrefix, ofLevel } from '#shared/read-models/rank-tree/nodes.ts';
import type { View } from '../view.ts';
import { stampIn, unionWithStamp } from '../stamp.ts';
import type { ReadInSnapshot } from '../snapshot.ts';
import type { SearchTerms } from './terms.ts';

export interface SearchedLeaf {
  boundary: string;
  /** How many customers it covers. */
  total: number;
  /** How many of them match. */
  hits: number;
  /** Whether `hits` may count somebody twice, or in vain. */
  doubtful: boolean;
}

/** The leaves with matches, in order, and the store's stamp. */
export async function searchLeaves(
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
          doubtful: key !== null || (names > 0 && numbers > 0),
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
  const behind = { $slice: [{ $split: [text, { $literal: term }] }, 1, MOST_PARTS] };
  return { $size: { $filter: { input: behind, cond: { $ne: [{ $indexOfBytes: ['$$this', '\0'] }, -1] } } } };
}

const MOST_PARTS = 100_000_000;
