/** Categories, products and option groups of a store's menu as records. */
import type { CategoryState } from '#shared/events/entities/category.ts';
import type { OptionGroupState } from '#shared/events/entities/option-group.ts';
import type { ProductState } from '#shared/events/entities/product.ts';
import { instant } from '../instant.ts';
import type { MenuCategory, MenuOptionGroup, MenuProduct } from '../menus/menu.ts';
import { money } from '../money.ts';
import { imageUrl, type SimulatedStore } from './store.ts';

/** The record of a category, as old as the store. */
export function categoryState(store: SimulatedStore, category: MenuCategory, now: number): CategoryState {
  const { id, name, description, position, active } = category;
  const created = instant(now - store.age);
  return {
    name,
    description,
    position,
    active,
    image_url: imageUrl(store, id),
    created_at: created,
    updated_at: created,
  };
}

/** The record of a product, as old as the store, when it was changed last. */
export function productState(
  store: SimulatedStore,
  product: MenuProduct,
  { now, changedAt }: { now: number; changedAt: number },
): ProductState {
  const { promotionalPrice, packaged, groups } = product;
  return {
    category_id: product.categoryId,
    name: product.name,
    description: product.description,
    price: money(product.price),
    promotional_price: promotionalPrice === null ? null : money(promotionalPrice),
    active: product.active,
    position: product.position,
    image_url: imageUrl(store, product.id),
    external_code: product.externalCode,
    ean: packaged ? ean13(product.number) : null,
    serves: product.serves,
    option_group_ids: groups.map(({ id }) => id),
    created_at: instant(now - store.age),
    updated_at: instant(changedAt),
  };
}

/** The record of an option group. */
export function optionGroupState(group: MenuOptionGroup): OptionGroupState {
  return {
    name: group.name,
    min: group.min,
    max: group.max,
    price_method: group.priceMethod,
    position: group.position,
    external_code: group.externalCode,
    options: group.options.map((option) => ({
      id: option.id,
      name: option.name,
      description: option.description,
      price: money(option.price),
      max_quantity: option.maxQuantity,
      active: option.active,
      position: option.position,
      external_code: option.externalCode,
    })),
  };
}

/** An EAN-13 out of the range 20, which is kept for codes of a shop's own: no maker's product has it. */
export function ean13(number: number): string {
  const digits = `20${String(number).padStart(10, '0')}`;
  const sum = Array.from(digits, Number).reduce(
    (total, digit, place) => total + digit * (place % 2 === 0 ? 1 : 3),
    0,
  );
  return `${digits}${(10 - (sum % 10)) % 10}`;
}
