/**
 * The caches of what is read from MongoDB, made once for the process. All keys begin with the generation's id. `docs/caches.md` says why
 * a wrong or old entry is harmless.
 */
import { LRUCache } from 'lru-cache';
import type { Stamp } from '#shared/read-models/collections.ts';
import type { Packed } from '#shared/read-models/rank-tree/nodes.ts';
import type { KnownRow } from './bson.ts';

/** Categories of one position, whose products stand among one another. */
export interface CategoryGroup {
  /** Ids; an empty one stands for products without a category. */
  categories: string[];
  /** How many products they hold. */
  count: number;
}

export interface Layout {
  /** That of the stamp; absent for a store that never had a category or product. */
  version: string | undefined;
  /** In order, those without products left out; the last may be that of products whose category is unknown. */
  groups: CategoryGroup[];
}

/** Beside its characters, each of which may take two. */
const BYTES_OF_A_BOUNDARY = 40;

/** What was seen of a change feed of a store: by it the next read asks for what it needs. It may be outdated. */
export interface FeedHint {
  positions: Stamp['positions'];
  /** Bytes of a change, on average. */
  bytes: number;
  /** Changes for each position that the store has given. */
  density: number;
}

export type Caches = ReturnType<typeof createCaches>;

export function createCaches() {
  return {
    /** Stamps, alone or with first pages, as they were read last; decoded they take about as much again, and so do the answers. */
    rows: new LRUCache<string, KnownRow>({
      maxSize: 16_000_000,
      sizeCalculation: ({ bytes }) => bytes.length * 3,
    }),
    feeds: new LRUCache<string, FeedHint>({ max: 20_000 }),
    /** Nodes of rank trees, as they were read last, with the version that the tree had; bounded in bytes. Boundaries may be the beginnings of names. */
    nodes: new LRUCache<string, Packed & { version: string | undefined }>({
      maxSize: 8_000_000,
      sizeCalculation: ({ boundaries, counts }) =>
        boundaries.reduce((sum, { length }) => sum + BYTES_OF_A_BOUNDARY + length * 2, counts.length),
      ttl: 300_000,
    }),
    /** Layouts of product lists; bounded by their categories, of a hundred bytes each. */
    layouts: new LRUCache<string, Layout>({
      maxSize: 200_000,
      sizeCalculation: ({ groups }) => groups.reduce((sum, { categories }) => sum + categories.length, 1),
    }),
    /** Stores whose menus are too large to be cached: not tried again for a while. */
    largeMenus: new LRUCache<string, true>({ max: 1_000, ttl: 60_000 }),
  };
}
