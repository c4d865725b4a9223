/** The writes of leaves' texts, in the tree that is searched. */
import type { AnyBulkWriteOperation, Document } from 'mongodb';
import { type LeafTexts, nodeId } from '../../read-models/rank-tree/nodes.ts';
import type { RankEntry } from '../../read-models/rank-tree/trees.ts';
import { SEARCH_TEXTS, type SearchTexts } from '../../read-models/search-texts.ts';
import type { CutLeaf } from './split.ts';
import type { TreeTransaction } from './tree-transaction.ts';

export type TextOperations = AnyBulkWriteOperation<LeafTexts>[];

type Place = Pick<TreeTransaction, 'tree' | 'storeId'>;

/** What comes to a leaf, and what goes. */
export interface Share {
  added: RankEntry[];
  removed: RankEntry[];
}

/** Adds pieces to a leaf's texts, and takes others out. */
export function changeTexts(
  { tree, storeId }: Place,
  boundary: string,
  { added, removed }: Share,
): TextOperations[number] {
  const pieces = (entries: readonly RankEntry[], name: keyof SearchTexts) =>
    entries.map(({ texts }) => texts?.[name] ?? '').filter((piece) => piece !== '');
  const texts = SEARCH_TEXTS.map((name) => [
    `texts.${name}`,
    changedText(`$texts.${name}`, pieces(added, name), pieces(removed, name)),
  ]);
  const total = { $add: ['$total', added.length - removed.length] };
  return {
    updateOne: {
      filter: { _id: nodeId(tree.name, storeId, 'leaf', boundary) },
      update: [{ $set: { total, ...Object.fromEntries(texts) } }],
    },
  };
}

/** A text with pieces removed and added. Of pieces that are alike it does not matter which one goes. */
function changedText(field: string, added: readonly string[], removed: readonly string[]): Document | string {
  let text: Document | string = field;
  for (const piece of removed) {
    text = { $replaceOne: { input: text, find: { $literal: piece }, replacement: '' } };
  }
  return added.length === 0 ? text : { $concat: [text, { $literal: added.join('') }] };
}

/** Writes a leaf's texts anew; nothing in a tree that is not searched. */
export function replaceTexts(
  { tree, storeId }: Place,
  { boundary, total, texts }: CutLeaf,
): TextOperations[number] | [] {
  if (texts === undefined) return [];
  const _id = nodeId(tree.name, storeId, 'leaf', boundary);
  return {
    replaceOne: { filter: { _id }, replacement: { store_id: storeId, total, texts }, upsert: true },
  };
}

/** Removes the texts of a leaf whose boundary is none any more. */
export function removeTexts({ tree, storeId }: Place, boundary: string): TextOperations[number] {
  return { deleteOne: { filter: { _id: nodeId(tree.name, storeId, 'leaf', boundary) } } };
}
