/**
 * The caches of reads from MongoDB. All keys begin with the generation's id. `docs/architecture.md` says
 * why an outdated entry is harmless.
 */
import { LRUCache } from 'lru-cache';
import type { Stamp } from '#shared/read-models/collections.ts';
import type { Packed } from '#shared/read-models/rank-tree/nodes.ts';
import type { KnownRow } from './bson.ts';

/** The categories of one position: their products are sorted together. */
export interface CategoryGroup {
  /** Ids; an empty id for products without a category. */
  categories: string[];
  count: number;
}

export interface Layout {
  /** Of the stamp; absent for a store that never had a category or product. */
  version: string | undefined;
  /** In order, without empty ones. The last may be for products with an unknown category. */
  groups: CategoryGroup[];
}

/** Besides its characters, of two bytes each. */
const BYTES_OF_A_BOUNDARY = 40;

/**
 * What the last read of a store's change feed saw, to size the next one: `bytes` of a change on
 * average. It may be outdated.
 */
export interface FeedHint {
  positions: Stamp['positions'];
  bytes: number;
  /** Changes for each position that the store has given. */
  density: number;
}

export type Caches = ReturnType<typeof createCaches>;

export function createCaches() {
  return {
    /**
     * The last stamps, alone or with first pages. Decoded rows take about as much again, and so do
     * the answers.
     */
    rows: new LRUCache<string, KnownRow>({
      maxSize: 16_000_000,
      sizeCalculation: ({ bytes }) => bytes.length * 3,
    }),
    feeds: new LRUCache<string, FeedHint>({ max: 20_000 }),
    /**
     * Nodes of rank trees, with the version of their tree; bounded in bytes. Boundaries may hold
     * the beginnings of names.
     */
    nodes: new LRUCache<string, Packed & { version: string | undefined }>({
      maxSize: 8_000_000,
      sizeCalculation: ({ boundaries, counts }) =>
        boundaries.reduce(
          (sum, { length }) => sum + BYTES_OF_A_BOUNDARY + length * 2,
          counts.length,
        ),
      ttl: 300_000,
    }),
    /** Layouts of product lists; bounded by their categories, of a hundred bytes each. */
    layouts: new LRUCache<string, Layout>({
      maxSize: 200_000,
      sizeCalculation: ({ groups }) =>
        groups.reduce((sum, { categories }) => sum + categories.length, 1),
    }),
    /**
     * Kinds of answers of a store that were too large to be read with others, or cached: not tried
     * again for a while.
     */
    large: new LRUCache<string, true>({ max: 10_000, ttl: 60_000 }),
  };
}
