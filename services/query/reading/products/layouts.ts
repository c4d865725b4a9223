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
import { SNAPSHOT } from '../snapshot.ts';
import type { ReadInSnapshot } from '../view.ts';
import { type Layout, NO_LAYOUT, shelvesOf } from './layout.ts';

/** Categories of all layouts together: a hundred bytes each. */
const REMEMBERED_CATEGORIES = 200_000;

/** A layout is read for one store at a time: one may have very many categories. */
const LIMITS: BatchLimits = { underWay: 4, ids: 1 };

export class Layouts {
  readonly #remembered = new LRUCache<string, Layout>({
    maxSize: REMEMBERED_CATEGORIES,
    sizeCalculation: ({ shelves }) => shelves.reduce((sum, { categories }) => sum + categories.length, 1),
  });
  readonly #read: ReadOne<Layout>;

  /** @param bounded ends a read that the server keeps; requests that wait for it have deadlines of their own. */
  constructor({ db }: Generation, bounded: Bounded) {
    this.#read = batched(async (storeIds) => {
      const layouts = new Map<string, Layout>();
      for (const storeId of storeIds) {
        const { layout } = await readLayout(
          (collection, pipeline, hint) =>
            bounded((signal) =>
              db
                .collection(collection)
                .aggregate<never>(pipeline, { ...SNAPSHOT, signal, ...(hint === undefined ? {} : { hint }) })
                .toArray(),
            ),
          storeId,
        );
        layouts.set(storeId, layout);
      }
      return layouts;
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
export async function readLayout(read: ReadInSnapshot, storeId: string): Promise<ReadLayout> {
  const rows = await read<Row>(
    COLLECTIONS.category,
    [
      { $match: { store_id: storeId } },
      // Covered by the index.
      { $project: { position: 1, category: { $literal: true } } },
      {
        $unionWith: {
          coll: CATEGORY_PRODUCTS,
          // "0" follows "/": nothing of another store lies between.
          pipeline: [
            { $match: { _id: { $gte: `${storeId}/`, $lt: `${storeId}0` } } },
            { $project: { products: 1 } },
          ],
        },
      },
      { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: storeId } }] } },
    ],
    'by_position',
  );
  const positions = new Map<string, number>();
  const products = new Map<string, number>();
  let stamp: Stamp | null = null;
  for (const row of rows) {
    if ('products' in row) products.set(row._id, row.products);
    else if ('category' in row && row.category === true) positions.set(row._id, row.position);
    else stamp = row;
  }
  const layout = { version: stamp?.layout, shelves: shelvesOf(storeId, positions, products) };
  return { layout, positions, stamp };
}
