/**
 * Folding: the changes of a slice gathered by entity, so that each entity is written once. Pure.
 * What an entity went through inside the slice is kept: that the outcome never depends on where slices are cut.
 */
import { tombstoneId } from '../../read-models/collections.ts';
import type { Entry } from './decode.ts';

/** What one entity went through: its entries, versions ascending. */
export interface Chain {
  /** `<entity>/<store id>/<entity id>` */
  key: string;
  entries: Entry[];
  /** Entries that were not above the version before them. */
  outdated: number;
}

/** Folds entries, by `Chain.key`. One that is not above the one before it can never take effect and is dropped. */
export function fold(entries: readonly Entry[]): Map<string, Chain> {
  const chains = new Map<string, Chain>();
  for (const entry of entries) {
    const { entity, storeId, id, sequence } = entry.change;
    const key = tombstoneId(entity, storeId, id);
    const chain = chains.get(key);
    if (chain === undefined) {
      chains.set(key, { key, entries: [entry], outdated: 0 });
    } else if (sequence > (chain.entries.at(-1)?.change.sequence ?? -1)) {
      chain.entries.push(entry);
    } else {
      chain.outdated += 1;
    }
  }
  return chains;
}
