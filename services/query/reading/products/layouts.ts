/**
 * The layouts of product lists, from one generation: each is read once and remembered until the store's stamp names another
 * version. What is remembered is a guess: whoever uses it reads the stamp in the same snapshot and compares.
 */
import { LRUCache } from 'lru-cache';
import {
  CATEGORY_PRODUCTS,
  type CategoryDocument,
  type CategoryProducts,
  COLLECTIONS,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import { batched, type BatchLimits, type ReadOne } from '../../batched.ts';
import type { Bounded } from '../../deadline.ts';
import { idIn } from '../id-in.ts';
import { openSnapshot, type SnapshotReads } from '../snapshot.ts';
import { type Layout, NO_LAYOUT, shelvesOf, stampedLayout } from './layout.ts';

/** Categories of all layouts together: a hundred bytes each. */
const REMEMBERED_CATEGORIES = 200_000;

/** Few: a store may have very many categories. */
const LIMITS: BatchLimits = { underWay: 4, ids: 8 };

export class Layouts {
  readonly #remembered = new LRUCache<string, Layout>({
    maxSize: REMEMBERED_CATEGORIES,
    sizeCalculation: ({ shelves }) => shelves.reduce((sum, { categories }) => sum + categories.length, 1),
  });
  readonly #read: ReadOne<Layout>;

  /** @param bounded ends a read that the server keeps; requests that wait for it have deadlines of their own. */
  constructor(generation: Generation, bounded: Bounded) {
    this.#read = batched(async (storeIds) => {
      const reads = openSnapshot(generation, bounded);
      try {
        const read = await readLayouts(reads, storeIds);
        return new Map([...read].map(([storeId, { layout }]) => [storeId, layout]));
      } finally {
        await reads.end();
      }
    }, LIMITS);
  }

  /** What is remembered of a store. */
  known(storeId: string): Layout | undefined {
    return this.#remembered.get(storeId);
  }

  /** Remembers a layout as the present one. */
  remember(storeId: string, layout: Layout): void {
    this.#remembered.set(storeId, layout);
  }

  /** What is remembered, else what is read now. `signal` as of `ReadOne`. */
  async layoutOf(storeId: string, signal: AbortSignal): Promise<Layout> {
    const known = this.known(storeId);
    if (known !== undefined) return known;
    const layout = (await this.#read(storeId, signal)) ?? NO_LAYOUT;
    this.remember(storeId, layout);
    return layout;
  }

  /** Forgets a layout that proved outdated, unless a newer one has taken its place. */
  forget(storeId: string, outdated: Layout): void {
    if (this.#remembered.peek(storeId) === outdated) this.#remembered.delete(storeId);
  }
}

type CategoryRow = { category: true } & Pick<CategoryDocument, '_id' | 'position'>;
type Row = CategoryRow | Pick<CategoryProducts, '_id' | 'products'> | Stamp;

export interface ReadLayout {
  layout: Layout;
  /** Where each category stands, by document id. */
  positions: ReadonlyMap<string, number>;
  stamp: Stamp | null;
}

/** Reads a store's layout, and the stamp of the same snapshot. */
export async function readLayout(reads: SnapshotReads, storeId: string): Promise<ReadLayout> {
  const layouts = await readLayouts(reads, [storeId]);
  return layouts.get(storeId) ?? { layout: NO_LAYOUT, positions: new Map(), stamp: null };
}

/** Some rows at a time: of a hundred thousand categories, no single read shall take long. */
async function readLayouts(
  reads: SnapshotReads,
  storeIds: readonly string[],
): Promise<Map<string, ReadLayout>> {
  const batches = reads.batches<Row>(
    COLLECTIONS.category,
    [
      { $match: { store_id: idIn(storeIds) } },
      // Covered by the index.
      { $project: { position: 1, category: { $literal: true } } },
      {
        $unionWith: {
          coll: CATEGORY_PRODUCTS,
          pipeline: [
            // "0" follows "/": nothing of another store lies between.
            { $match: { $or: storeIds.map((id) => ({ _id: { $gte: `${id}/`, $lt: `${id}0` } })) } },
            { $project: { products: 1 } },
          ],
        },
      },
      { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: idIn(storeIds) } }] } },
    ],
    'by_position',
  );
  const ofStores = new Map(
    storeIds.map((storeId) => [
      storeId,
      { positions: new Map<string, number>(), products: new Map<string, number>() },
    ]),
  );
  const stamps = new Map<string, Stamp>();
  for await (const rows of batches) {
    for (const row of rows) {
      if ('products' in row) ofStores.get(storeIdOf(row._id))?.products.set(row._id, row.products);
      else if (row.category === true) ofStores.get(storeIdOf(row._id))?.positions.set(row._id, row.position);
      else stamps.set(row._id, row);
    }
  }
  return new Map(
    [...ofStores].map(([storeId, { positions, products }]) => {
      const stamp = stamps.get(storeId) ?? null;
      const layout = stampedLayout(stamp, shelvesOf(storeId, positions, products));
      return [storeId, { layout, positions, stamp }];
    }),
  );
}

function storeIdOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}
