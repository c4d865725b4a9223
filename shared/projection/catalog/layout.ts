/**
 * The layout of a store's product list: where its categories stand, and how many products name each. The list is in the
 * order of the categories, so that with the layout a page is found without asking every product. Pure; a change costs
 * what it changes, however many products a category has.
 */
import type { EntityName } from '../../events/entities/index.ts';
import { documentId, type Documents } from '../../read-models/collections.ts';

/** What the layout depends on: the category that a product names, empty for none, or the position of a category. */
export type Place = { category: string } | { position: number };

/** The fields of documents that `placeOf` reads. */
export const PLACED_FIELDS = { category_id: 1, position: 1 } as const;

/** A document's place, from the fields that `PLACED_FIELDS` names; `null` for what is not in the product list. */
export function placeOf(entity: EntityName, document: object): Place | null {
  if (entity === 'product') return { category: (document as Documents['product']).category_id };
  if (entity === 'category') return { position: (document as Documents['category']).position };
  return null;
}

/** What changes in stores' layouts: by store id, how many products more or fewer name a category, by the id of its count. */
export type LayoutChanges = Map<string, Map<string, number>>;

/** Notes that a product or category is in another place; `null` where it did not exist, or is gone. */
export function noteLayout(
  changes: LayoutChanges,
  storeId: string,
  before: Place | null,
  after: Place | null,
): void {
  if (isSame(before, after)) return;
  const products = changes.get(storeId) ?? new Map<string, number>();
  changes.set(storeId, products);
  for (const [place, by] of [
    [before, -1],
    [after, 1],
  ] as const) {
    if (place === null || !('category' in place)) continue;
    const id = documentId(storeId, place.category);
    products.set(id, (products.get(id) ?? 0) + by);
  }
}

function isSame(before: Place | null, after: Place | null): boolean {
  if (before === null || after === null) return before === after;
  if ('category' in before) return 'category' in after && before.category === after.category;
  return 'position' in after && before.position === after.position;
}
