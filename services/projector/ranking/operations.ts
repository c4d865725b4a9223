/** The writes of nodes. */
import type { AnyBulkWriteOperation, Document } from 'mongodb';
import { type Level, nodeId, type RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import { SEARCH_TEXTS } from '#shared/read-models/search-texts.ts';
import type { CutNode } from './cut.ts';
import type { NodeChange } from './node-change.ts';
import type { Work } from './work.ts';

export type Operations = AnyBulkWriteOperation<RankNode>[];

type Place = Pick<Work, 'tree' | 'storeId'>;

/** Adds a change to a node. */
export function increment(
  { tree, storeId }: Place,
  level: Level,
  boundary: string,
  { total, counts, addedTexts, removedTexts }: NodeChange,
): Operations[number] {
  const filter = { _id: nodeId(tree.name, storeId, level, boundary) };
  if (addedTexts.length === 0 && removedTexts.length === 0) {
    const facets = Object.entries(counts).map(([facet, by]) => [`counts.${facet}`, by]);
    return { updateOne: { filter, update: { $inc: { total, ...Object.fromEntries(facets) } } } };
  }
  const facets = Object.entries(counts).map(([facet, by]) => [
    `counts.${facet}`,
    { $add: [{ $ifNull: [`$counts.${facet}`, 0] }, by] },
  ]);
  const texts = SEARCH_TEXTS.map((name) => [
    `texts.${name}`,
    changedText(
      `$texts.${name}`,
      addedTexts.map((pieces) => pieces[name]),
      removedTexts.map((pieces) => pieces[name]),
    ),
  ]);
  const set = { total: { $add: ['$total', total] }, ...Object.fromEntries([...facets, ...texts]) };
  return { updateOne: { filter, update: [{ $set: set }] } };
}

/** A text with pieces removed and added. Of pieces that are alike it does not matter which one goes. */
function changedText(field: string, added: readonly string[], removed: readonly string[]): Document | string {
  let text: Document | string = field;
  for (const piece of removed) {
    text = { $replaceOne: { input: text, find: { $literal: piece }, replacement: '' } };
  }
  return added.length === 0 ? text : { $concat: [text, { $literal: added.join('') }] };
}

/** Writes a node anew. */
export function replacement(
  { tree, storeId }: Place,
  level: Level,
  { boundary, ...content }: CutNode,
): Operations[number] {
  const _id = nodeId(tree.name, storeId, level, boundary);
  return {
    replaceOne: {
      filter: { _id },
      replacement: { store_id: storeId, ...content },
      upsert: true,
    },
  };
}

/** Removes a node whose boundary is none any more. */
export function removal({ tree, storeId }: Place, level: Level, boundary: string): Operations[number] {
  return { deleteOne: { filter: { _id: nodeId(tree.name, storeId, level, boundary) } } };
}
