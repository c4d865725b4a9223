/** How a node changes: the records that come and go, added up. Pure. */
import type { SearchTexts } from '#shared/read-models/search-texts.ts';
import type { TreeChange } from './changes.ts';

export interface NodeChange {
  total: number;
  /** By facet; what comes to nothing is left out. */
  counts: Record<string, number>;
  addedTexts: SearchTexts[];
  removedTexts: SearchTexts[];
}

/** Adds up what comes and goes. */
export function addUp({ added, removed }: Pick<TreeChange, 'added' | 'removed'>): NodeChange {
  const counts: Record<string, number> = {};
  for (const { facet } of added) counts[facet] = (counts[facet] ?? 0) + 1;
  for (const { facet } of removed) counts[facet] = (counts[facet] ?? 0) - 1;
  return {
    total: added.length - removed.length,
    counts: Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)),
    addedTexts: added.flatMap(({ texts }) => texts ?? []),
    removedTexts: removed.flatMap(({ texts }) => texts ?? []),
  };
}
