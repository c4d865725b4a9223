/**
 * Composing: what categories, products and option groups show of one another. It is made anew from the stored
 * records whenever one of them changes, in the same transaction, so that it is right in any order of arrival:
 * a product's details with its option groups, its place by the category's position, a category's number of
 * products, and the sections of the menu.
 */
import type { AnyBulkWriteOperation, ClientSession, Db } from 'mongodb';
import { type CategoryDocument, COLLECTIONS, type ProductDocument } from '#shared/read-models/collections.ts';
import { members } from '../projections/projection.ts';
import {
  type Catalog,
  type Category,
  documentIds,
  findProducts,
  joinOptionGroups,
  loadCategories,
  loadOptionGroups,
  type Product,
} from './catalog.ts';
import { writeSections } from './sections.ts';
import type { TouchedCatalog, TouchedCatalogs } from './touched.ts';

/** Composes what a slice touched. Call it after the records themselves are written. */
export async function composeCatalogs(
  db: Db,
  session: ClientSession,
  touched: TouchedCatalogs,
  offsetOf: (storeId: string) => string,
): Promise<void> {
  for (const [storeId, store] of touched) {
    const offset = offsetOf(storeId);
    await composeCatalog(
      { db, session, storeId, offset, categories: new Map(), optionGroups: new Map() },
      store,
    );
  }
}

async function composeCatalog(catalog: Catalog, touched: TouchedCatalog): Promise<void> {
  const changed = await findProducts(catalog, {
    $or: [
      { _id: { $in: documentIds(catalog, touched.products) } },
      { option_group_ids: { $in: [...touched.optionGroups] } },
    ],
  });
  const affected = new Set([...touched.categories, ...touched.named]);
  for (const { category_id } of changed) if (category_id !== null) affected.add(category_id);
  await loadCategories(catalog, affected);
  await loadOptionGroups(catalog, changed);
  await writeProducts(catalog, changed);
  await placeProducts(catalog, touched.categories);
  await writeCategories(catalog, affected);

  const shown = await findProducts(
    catalog,
    { category_id: { $in: [...affected] }, active: true },
    { category_id: 1, position: 1, name: 1, _id: 1 },
  );
  await loadOptionGroups(catalog, shown);
  await writeSections(catalog, affected, shown);
}

async function writeProducts(catalog: Catalog, products: readonly Product[]): Promise<void> {
  const { db, session } = catalog;
  const operations = products.map((product): AnyBulkWriteOperation<ProductDocument> => {
    return {
      updateOne: {
        filter: { _id: product._id },
        update: {
          $set: {
            whole: productWhole(catalog, product),
            category_position: categoryPosition(catalog, product),
          },
        },
      },
    };
  });
  if (operations.length > 0) {
    await db
      .collection<ProductDocument>(COLLECTIONS.product)
      .bulkWrite(operations, { session, ordered: false });
  }
}

/** A product's details: its own, and its option groups that exist. */
export function productWhole(catalog: Catalog, product: Product): string {
  const { summary, before_groups, after_groups } = product;
  const groups = joinOptionGroups(catalog, product, 'summary');
  return `${summary.slice(0, -1)},${before_groups},"option_groups":[${groups}],${after_groups}}`;
}

/** Where a product's category stands; last where there is none or it is unknown. */
export function categoryPosition({ categories }: Catalog, { category_id }: Product): number {
  const category = category_id === null ? undefined : categories.get(category_id);
  return category?.position ?? Number.POSITIVE_INFINITY;
}

/** A category's details. */
export function categoryWhole({ summary, dates }: Category, products: number): string {
  return `${summary.slice(0, -1)},${dates},${members({ product_count: products })}}`;
}

/** Gives the products of changed categories their place. */
async function placeProducts(
  { db, session, storeId, categories }: Catalog,
  changed: Iterable<string>,
): Promise<void> {
  const operations = [...changed].map((id): AnyBulkWriteOperation<ProductDocument> => ({
    updateMany: {
      filter: { store_id: storeId, category_id: id },
      update: { $set: { category_position: categories.get(id)?.position ?? Number.POSITIVE_INFINITY } },
    },
  }));
  if (operations.length === 0) return;
  await db
    .collection<ProductDocument>(COLLECTIONS.product)
    .bulkWrite(operations, { session, ordered: false });
}

async function writeCategories(catalog: Catalog, affected: Iterable<string>): Promise<void> {
  const { db, session, storeId, categories } = catalog;
  const present = [...affected].filter((id) => categories.has(id));
  if (present.length === 0) return;
  const counted = await db
    .collection<ProductDocument>(COLLECTIONS.product)
    .aggregate<{ _id: string; count: number }>(
      [
        { $match: { store_id: storeId, category_id: { $in: present } } },
        { $group: { _id: '$category_id', count: { $sum: 1 } } },
      ],
      { session, batchSize: 10_000 },
    )
    .toArray();
  const counts = new Map(counted.map(({ _id, count }) => [_id, count]));
  const operations = present.flatMap((id): AnyBulkWriteOperation<CategoryDocument>[] => {
    const category = categories.get(id);
    if (category === undefined) return [];
    const whole = categoryWhole(category, counts.get(id) ?? 0);
    return [{ updateOne: { filter: { _id: category._id }, update: { $set: { whole } } } }];
  });
  await db
    .collection<CategoryDocument>(COLLECTIONS.category)
    .bulkWrite(operations, { session, ordered: false });
}
