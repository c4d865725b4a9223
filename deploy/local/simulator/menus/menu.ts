/** What one store has on its menu, as its records say it, and how it changes: each change makes a new menu out of the one before. */
import type { CategoryState } from '#shared/events/entities/category.ts';
import type { OptionGroupState } from '#shared/events/entities/option-group.ts';
import type { ProductState } from '#shared/events/entities/product.ts';
import { cents } from '../money.ts';

/** Times are told when a record is published. */
export type MenuCategory = { id: string } & Omit<CategoryState, 'created_at' | 'updated_at'>;
/** At least `min` of its options are active. */
export type MenuOptionGroup = { id: string } & OptionGroupState;
export type MenuOption = MenuOptionGroup['options'][number];
/** Its price is zero where the options chosen make it. */
export type MenuProduct = { id: string; groups: readonly MenuOptionGroup[] } & Omit<
  ProductState,
  'created_at' | 'updated_at' | 'option_group_ids'
>;

export interface Menu {
  categories: readonly MenuCategory[];
  products: readonly MenuProduct[];
  optionGroups: readonly MenuOptionGroup[];
}

/** The products that somebody can order now. */
export function onSale({ categories, products }: Menu): MenuProduct[] {
  const shown = new Set(categories.filter(({ active }) => active).map(({ id }) => id));
  return products.filter(({ active, category_id: id }) => active && shown.has(id ?? ''));
}

/** The options that somebody can choose now. */
export function activeOptions({ options }: MenuOptionGroup): MenuOption[] {
  return options.filter(({ active }) => active);
}

/** What a product costs now, in cents, without its options. */
export function priceOf({ price, promotional_price: promotion }: MenuProduct): number {
  return cents(promotion ?? price);
}

/** The group with one option sold out, or back. */
export function withToggled(group: MenuOptionGroup, { id }: MenuOption): MenuOptionGroup {
  const options = group.options.map((option) =>
    option.id === id ? { ...option, active: !option.active } : option,
  );
  return { ...group, options };
}

/** The menu with another product in the place of the one with its id. */
export function withProduct(menu: Menu, changed: MenuProduct): Menu {
  return { ...menu, products: menu.products.map((one) => (one.id === changed.id ? changed : one)) };
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
