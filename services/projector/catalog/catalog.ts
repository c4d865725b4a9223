/** The records of one store's catalog that composing works on, read inside the transaction. */
import type { ClientSession, Db, Document } from 'mongodb';
import {
  type CategoryDocument,
  COLLECTIONS,
  documentId,
  type OptionGroupDocument,
  type ProductDocument,
} from '#shared/read-models/collections.ts';

export type Category = Pick<
  CategoryDocument,
  '_id' | 'summary' | 'dates' | 'name' | 'position' | 'active' | 'offset' | 'updated_at'
>;
export type Product = Omit<ProductDocument, 'whole'>;
type OptionGroup = Pick<OptionGroupDocument, '_id' | 'summary' | 'active_summary'>;

export interface Catalog {
  db: Db;
  session: ClientSession;
  storeId: string;
  /** The store's offset after this slice. */
  offset: string;
  categories: Map<string, Category>;
  optionGroups: Map<string, OptionGroup>;
}

/** `_id`s of a store's documents. */
export function documentIds({ storeId }: Catalog, names: Iterable<string>): string[] {
  return [...names].map((id) => documentId(storeId, id));
}

/** Products of the store, without their details. */
export async function findProducts(
  { db, session, storeId }: Catalog,
  filter: Document,
  sort: Record<string, 1> = {},
): Promise<Product[]> {
  return db
    .collection<Product>(COLLECTIONS.product)
    .find({ store_id: storeId, ...filter }, { session, sort, projection: { whole: 0 }, batchSize: 10_000 })
    .toArray();
}

/** Adds categories to the catalog; those that do not exist stay out. */
export async function loadCategories(catalog: Catalog, wanted: Iterable<string>): Promise<void> {
  const { db, session, categories, storeId } = catalog;
  const found = db
    .collection<Category>(COLLECTIONS.category)
    .find(
      { _id: { $in: documentIds(catalog, wanted) } },
      { session, projection: { whole: 0 }, batchSize: 10_000 },
    );
  for await (const category of found) categories.set(category._id.slice(storeId.length + 1), category);
}

/** Adds the option groups that products name to the catalog; those that do not exist stay out. */
export async function loadOptionGroups(catalog: Catalog, products: readonly Product[]): Promise<void> {
  const { db, session, optionGroups, storeId } = catalog;
  const wanted = new Set(products.flatMap((product) => product.option_group_ids));
  for (const id of optionGroups.keys()) wanted.delete(id);
  if (wanted.size === 0) return;
  const found = db
    .collection<OptionGroup>(COLLECTIONS.option_group)
    .find(
      { _id: { $in: documentIds(catalog, wanted) } },
      { session, projection: { summary: 1, active_summary: 1 }, batchSize: 10_000 },
    );
  for await (const group of found) optionGroups.set(group._id.slice(storeId.length + 1), group);
}

/** A product's option groups that exist, in its own order, as JSON joined by commas. */
export function joinOptionGroups(
  { optionGroups }: Catalog,
  product: Product,
  body: 'summary' | 'active_summary',
): string {
  return product.option_group_ids.flatMap((id) => optionGroups.get(id)?.[body] ?? []).join(',');
}
