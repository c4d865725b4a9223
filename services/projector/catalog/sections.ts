/** The sections of a store's menu: each active category with its active products, as the menu shows them. */
import { type MenuSection, MENU_SECTIONS } from '#shared/read-models/collections.ts';
import { shiftBody } from '#shared/read-models/local-time.ts';
import { type Catalog, joinOptionGroups, type Product } from './catalog.ts';

/** A section that grows past this goes on in another part; MongoDB's limit for a document is 16 MiB. */
const MAX_PART_BYTES = 4 * 1_048_576;

/**
 * Writes the sections of categories anew.
 * @param products the active products of these categories, in order of category, position, name and id.
 */
export async function writeSections(
  catalog: Catalog,
  affected: Set<string>,
  products: readonly Product[],
): Promise<void> {
  const { db, session, storeId } = catalog;
  const collection = db.collection<MenuSection>(MENU_SECTIONS);
  await collection.deleteMany({ store_id: storeId, category_id: { $in: [...affected] } }, { session });
  const sections = [...affected].flatMap((id) => sectionsOf(catalog, id, products));
  if (sections.length > 0) await collection.insertMany(sections, { session, ordered: false });
}

/** The sections of one category; none where it is not shown. */
export function sectionsOf(
  catalog: Catalog,
  categoryId: string,
  products: readonly Product[],
): MenuSection[] {
  const { storeId, offset } = catalog;
  const category = catalog.categories.get(categoryId);
  if (category === undefined || !category.active) return [];
  const sections: MenuSection[] = [];
  let bodies: string[] = [];
  let bytes = 0;
  let newest = category.updated_at;
  const finish = () => {
    if (bodies.length === 0) return;
    sections.push({
      _id: `${storeId}/${categoryId}/${sections.length}`,
      store_id: storeId,
      category_id: categoryId,
      position: category.position,
      name: category.name,
      part: sections.length,
      offset,
      category: category.summary,
      products: bodies.join(','),
      updated_at: newest,
    });
    bodies = [];
    bytes = 0;
  };
  for (const product of products) {
    if (product.category_id !== categoryId) continue;
    // The bodies of one section are all made for one offset.
    const summary = shiftBody(product.summary, product.offset, offset);
    const body = `${summary.slice(0, -1)},"option_groups":[${joinOptionGroups(catalog, product, 'active_summary')}]}`;
    const size = Buffer.byteLength(body);
    if (bytes + size > MAX_PART_BYTES) finish();
    bodies.push(body);
    bytes += size;
    if (product.updated_at > newest) newest = product.updated_at;
  }
  finish();
  return sections;
}
