/** Compares what categories, products and the menu show of one another with what they would be composed to now. */
import { isDeepStrictEqual } from 'node:util';
import type { ClientSession, Db } from 'mongodb';
import {
  type CategoryDocument,
  COLLECTIONS,
  MENU_SECTIONS,
  type MenuSection,
  type ProductDocument,
} from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET, shiftBody } from '#shared/read-models/local-time.ts';
import {
  type Catalog,
  findProducts,
  loadCategories,
  loadOptionGroups,
  type Product,
} from '#projector/catalog/catalog.ts';
import { categoryPosition, categoryWhole, productWhole } from '#projector/catalog/compose.ts';
import { sectionsOf } from '#projector/catalog/sections.ts';
import type { Findings } from './findings.ts';

/** Compares one store's catalog, read in the session's snapshot. The records themselves are compared elsewhere. */
export async function compareCatalog(
  db: Db,
  session: ClientSession,
  storeId: string,
  findings: Findings,
): Promise<void> {
  const catalog: Catalog = {
    db,
    session,
    storeId,
    offset: DEFAULT_OFFSET,
    categories: new Map(),
    optionGroups: new Map(),
  };
  const products = await findProducts(catalog, {}, { category_id: 1, position: 1, name: 1, _id: 1 });
  const categories = await db
    .collection<CategoryDocument>(COLLECTIONS.category)
    .find({ store_id: storeId }, { session, batchSize: 10_000 })
    .toArray();
  await loadCategories(
    catalog,
    categories.map(({ _id }) => idOf(storeId, _id)),
  );
  await loadOptionGroups(catalog, products);
  await compareProducts(catalog, products, findings);
  compareCategories(catalog, categories, products, findings);
  await compareSections(catalog, products, findings);
}

async function compareProducts(
  catalog: Catalog,
  products: readonly Product[],
  findings: Findings,
): Promise<void> {
  const { db, session, storeId } = catalog;
  const byId = new Map(products.map((product) => [product._id, product]));
  const stored = db
    .collection<ProductDocument>(COLLECTIONS.product)
    .find({ store_id: storeId }, { session, projection: { whole: 1, category_position: 1 } });
  for await (const { _id, whole, category_position } of stored) {
    const product = byId.get(_id);
    if (product === undefined) continue;
    const fields = [
      ...(whole === productWhole(catalog, product) ? [] : ['whole']),
      ...(category_position === categoryPosition(catalog, product) ? [] : ['category_position']),
    ];
    if (fields.length > 0) {
      findings.add(storeId, `product ${idOf(storeId, _id)}`, `other ${fields.join(', ')}`, 'as composed');
    }
  }
}

function compareCategories(
  { storeId }: Catalog,
  categories: readonly CategoryDocument[],
  products: readonly Product[],
  findings: Findings,
): void {
  const counts = Map.groupBy(products, ({ category_id }) => category_id);
  for (const category of categories) {
    const id = idOf(storeId, category._id);
    if (category.whole !== categoryWhole(category, counts.get(id)?.length ?? 0)) {
      findings.add(storeId, `category ${id}`, 'other whole', 'as composed');
    }
  }
}

async function compareSections(
  catalog: Catalog,
  products: readonly Product[],
  findings: Findings,
): Promise<void> {
  const { db, session, storeId, categories } = catalog;
  const sections = await db
    .collection<MenuSection>(MENU_SECTIONS)
    .find({ store_id: storeId }, { session, sort: { category_id: 1, part: 1 }, batchSize: 10_000 })
    .toArray();
  const stored = Map.groupBy(sections, ({ category_id }) => category_id);
  const active = products.filter((product) => product.active);
  for (const id of new Set([...categories.keys(), ...stored.keys()])) {
    const parts = stored.get(id) ?? [];
    const offset = parts[0]?.offset ?? catalog.offset;
    // While a store's bodies are rewritten, the parts of one category may be made for different offsets.
    const present = parts.map((part) => ({
      ...part,
      offset,
      products: shiftBody(part.products, part.offset, offset),
    }));
    if (!isDeepStrictEqual(present, sectionsOf({ ...catalog, offset }, id, active))) {
      findings.add(storeId, `menu section of category ${id}`, 'other', 'as composed');
    }
  }
}

function idOf(storeId: string, documentId: string): string {
  return documentId.slice(storeId.length + 1);
}
