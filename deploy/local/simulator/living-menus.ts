/** The menus of one environment's stores as they are now: prices, promotions and what is to be had change while they work. */
import { optionGroupState, productState } from './entities/menu.ts';
import type { SimulatedStore } from './entities/store.ts';
import type { SimulatedEvent } from './event.ts';
import { priceAt, promotionalPrice } from './menus/make-menu.ts';
import {
  activeOptions,
  type Menu,
  type MenuOptionGroup,
  type MenuProduct,
  withOptionGroup,
  withProduct,
} from './menus/menu.ts';
import { type Chance, happens, pick } from './random.ts';

const PRODUCT_PERCENT = 60;

/** When a menu changes, and the version that what is changed gets. */
export interface MenuChange {
  now: number;
  /** When the history was made, from which the age of records counts. */
  epoch: number;
  sequence: number;
}

export class LivingMenus {
  readonly #menus = new Map<string, Menu>();

  /** The store with the menu that it has now. */
  present(store: SimulatedStore): SimulatedStore {
    return { ...store, menu: this.#menus.get(store.id) ?? store.menu };
  }

  /** Changes a product or the options of a group; orders from now on are made from the changed menu. */
  change(chance: Chance, store: SimulatedStore, { now, epoch, sequence }: MenuChange): SimulatedEvent | null {
    const { menu } = this.present(store);
    const ofStore = { storeId: store.id, sequence };
    if (happens(chance, PRODUCT_PERCENT)) {
      const product = changedProduct(chance, menu);
      this.#menus.set(store.id, withProduct(menu, product));
      const data = productState(store, product, { now: epoch, changedAt: now });
      return { ...ofStore, entity: 'product', subject: product.id, data };
    }
    const group = changedOptionGroup(chance, menu);
    if (group === null) return null;
    this.#menus.set(store.id, withOptionGroup(menu, group));
    return { ...ofStore, entity: 'option_group', subject: group.id, data: optionGroupState(group) };
  }
}

/** As much as this may be sold out at once; then something comes back first. */
const MOST_SOLD_OUT = 2;

/** A product of the menu with another price, a promotion begun or ended, sold out, or back. */
export function changedProduct(chance: Chance, { products }: Menu): MenuProduct {
  const soldOut = products.filter(({ active }) => !active);
  const product = pick(chance, soldOut.length >= MOST_SOLD_OUT ? soldOut : products);
  if (!product.active) return { ...product, active: true };
  if (product.price === 0 || happens(chance, 30)) return { ...product, active: false };
  if (product.promotionalPrice !== null) return { ...product, promotionalPrice: null };
  if (happens(chance, 50)) {
    return { ...product, promotionalPrice: promotionalPrice(chance, product.price) };
  }
  return { ...product, price: priceAt(product.price, pick(chance, [94, 96, 104, 106])) };
}

/** An option group of the menu in which one option is sold out, or back; `null` where none can be spared. */
export function changedOptionGroup(chance: Chance, { optionGroups }: Menu): MenuOptionGroup | null {
  const changeable = optionGroups.filter((group) => toggleable(group).length > 0);
  if (changeable.length === 0) return null;
  const group = pick(chance, changeable);
  const { id } = pick(chance, toggleable(group));
  return {
    ...group,
    options: group.options.map((option) =>
      option.id === id ? { ...option, active: !option.active } : option,
    ),
  };
}

/** What is sold out may come back; the rest only if enough stays that somebody can choose. */
function toggleable(group: MenuOptionGroup) {
  const spare = activeOptions(group).length > Math.max(group.min, 1);
  const soldOut = group.options.filter(({ active }) => !active);
  return soldOut.length >= MOST_SOLD_OUT || !spare ? soldOut : group.options;
}
