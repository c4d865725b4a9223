/**
 * Trees that are remembered from slice to slice, so that nothing of them is read before they are changed. Each belongs
 * to one version of its tree, which the stamp names: after a transaction that was undone, or another writer's, the
 * versions differ and nodes are read again.
 */
import { LRUCache } from 'lru-cache';
import type { HeldTree } from './loaded-tree.ts';
import type { Work } from './tree-transaction.ts';

/** About: a store with ten million orders has 22,000 parts of some 350 bytes, of which a slice needs a few hundred. */
const REMEMBERED_BYTES = 50_000_000;

const remembered = new LRUCache<string, { version: string; held: HeldTree }>({
  maxSize: REMEMBERED_BYTES,
  sizeCalculation: ({ held }) => held.size,
});

/** Takes the tree out that is remembered of a version: whoever gets it changes it, and should the transaction be undone, it would be wrong. */
export function takeRemembered(work: Work, version: string): HeldTree | null {
  const key = nameOf(work);
  const known = remembered.get(key);
  remembered.delete(key);
  return known?.version === version ? known.held : null;
}

/** Remembers the tree that is stored from a version on. */
export function rememberTree(work: Work, version: string, held: HeldTree): void {
  remembered.set(nameOf(work), { version, held });
}

function nameOf({ db, tree, storeId }: Work): string {
  return `${db.databaseName}/${tree.name}/${storeId}`;
}
