/** What one store has on its menu, and how it changes: each change makes a new menu out of the one before. */
import type { PRICE_METHODS } from '#shared/events/entities/option-group.ts';

/** How the prices of the chosen options become one: `max` and `average` are for half-and-half pizzas. */
export type PriceMethod = (typeof PRICE_METHODS)[number];

/** All prices in cents. */
export interface MenuOption {
  id: string;
  name: string;
  description: string | null;
  price: number;
  maxQuantity: number;
  active: boolean;
  position: number;
  externalCode: string;
}

export interface MenuOptionGroup {
  id: string;
  name: string;
  min: number;
  max: number;
  priceMethod: PriceMethod;
  position: number;
  externalCode: string;
  /** At least `min` of them are active. */
  options: readonly MenuOption[];
}

export interface MenuProduct {
  id: string;
  /** The digits of its id. */
  number: number;
  categoryId: string;
  name: string;
  description: string;
  /** Zero where the options chosen make the price. */
  price: number;
  /** Below `price`, while there is a promotion. */
  promotionalPrice: number | null;
  active: boolean;
  position: number;
  externalCode: string;
  /** Whether it comes as its maker packed it, with a bar code. */
  packaged: boolean;
  serves: number | null;
  groups: readonly MenuOptionGroup[];
}

export interface MenuCategory {
  id: string;
  name: string;
  description: string | null;
  active: boolean;
  position: number;
}

export interface Menu {
  categories: readonly MenuCategory[];
  products: readonly MenuProduct[];
  optionGroups: readonly MenuOptionGroup[];
}

/** The products that somebody can order now. */
export function onSale({ categories, products }: Menu): MenuProduct[] {
  const hidden = new Set(categories.filter(({ active }) => !active).map(({ id }) => id));
  return products.filter(({ active, categoryId }) => active && !hidden.has(categoryId));
}

/** The options that somebody can choose now. */
export function activeOptions({ options }: MenuOptionGroup): MenuOption[] {
  return options.filter(({ active }) => active);
}

/** What a product costs now, without its options. */
export function priceOf({ price, promotionalPrice }: MenuProduct): number {
  return promotionalPrice ?? price;
}

/** The menu with another product in the place of the one with its id. */
export function withProduct(menu: Menu, changed: MenuProduct): Menu {
  return {
    ...menu,
    products: menu.products.map((product) => (product.id === changed.id ? changed : product)),
  };
}

/** The menu with another option group in the place of the one with its id, in every product that has it. */
export function withOptionGroup(menu: Menu, changed: MenuOptionGroup): Menu {
  const replace = (group: MenuOptionGroup) => (group.id === changed.id ? changed : group);
  return {
    ...menu,
    products: menu.products.map((product) => ({ ...product, groups: product.groups.map(replace) })),
    optionGroups: menu.optionGroups.map(replace),
  };
}
