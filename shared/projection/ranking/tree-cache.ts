/**
 * A cache of rank trees, from slice to slice, so that nothing of them is read before they are changed. Each entry belongs
 * to one version of its tree, which the stamp names: after a transaction that was undone, or another writer's, the
 * versions differ and nodes are read again.
 */
import { LRUCache } from 'lru-cache';
import type { LoadedTree } from './loaded-tree.ts';
import type { TreeTransaction } from './tree-transaction.ts';

/** About: a store with ten million orders has 22,000 parts of some 350 bytes, of which a slice needs a few hundred. */
const CACHED_BYTES = 50_000_000;

export class TreeCache {
  readonly #trees = new LRUCache<string, { version: string; loaded: LoadedTree }>({
    maxSize: CACHED_BYTES,
    sizeCalculation: ({ loaded }) => loaded.size,
  });

  /** Takes the tree of a version out of the cache: it is about to be changed, and is wrong if the transaction is undone. */
  take(transaction: TreeTransaction, version: string | undefined): LoadedTree | null {
    const key = keyOf(transaction);
    const cached = this.#trees.get(key);
    this.#trees.delete(key);
    return cached?.version === version ? (cached?.loaded ?? null) : null;
  }

  /** Caches the tree that is stored from a version on. */
  put(transaction: TreeTransaction, version: string, loaded: LoadedTree): void {
    this.#trees.set(keyOf(transaction), { version, loaded });
  }
}

function keyOf({ db, tree, storeId }: TreeTransaction): string {
  return `${db.databaseName}/${tree.name}/${storeId}`;
}
