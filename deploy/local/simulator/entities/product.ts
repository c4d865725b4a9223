/** Products of a store's menu. */
import type { ProductState } from '#shared/events/entities/product.ts';
import { ean13 } from '../bar-code.ts';
import { instant } from '../instant.ts';
import type { MenuProduct } from '../menus/menu.ts';
import { money } from '../money.ts';
import { imageUrl, type SimulatedStore } from './store.ts';

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
