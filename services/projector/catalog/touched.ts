/** What of a store's catalog a slice touched: categories, products and option groups depend on one another. */

export interface TouchedCatalog {
  /** Categories whose own record changed. */
  categories: Set<string>;
  /** Categories that products named before or name now. */
  named: Set<string>;
  products: Set<string>;
  optionGroups: Set<string>;
}

/** By store id. */
export type TouchedCatalogs = Map<string, TouchedCatalog>;

/** A store's entry, made if there is none. */
export function touchedCatalog(catalogs: TouchedCatalogs, storeId: string): TouchedCatalog {
  let touched = catalogs.get(storeId);
  if (touched === undefined) {
    touched = { categories: new Set(), named: new Set(), products: new Set(), optionGroups: new Set() };
    catalogs.set(storeId, touched);
  }
  return touched;
}
