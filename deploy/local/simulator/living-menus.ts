/** The menus of one environment's stores as they are now: prices, promotions and what is to be had change while they work. */
import type { SimulatedStore } from './entities/store.ts';
import { eventOf, productEvent, type SimulatedEvent } from './event.ts';
import { instant } from './instant.ts';
import { priceAt, promotionalPrice } from './menus/make-menu.ts';
import {
  activeOptions,
  type Menu,
  type MenuOptionGroup,
  type MenuProduct,
  withOptionGroup,
  withProduct,
  withToggled,
} from './menus/menu.ts';
import { cents } from './money.ts';
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
    if (happens(chance, PRODUCT_PERCENT)) {
      const product = changedProduct(chance, menu);
      this.#menus.set(store.id, withProduct(menu, product));
      const times = { created_at: instant(epoch - store.age), updated_at: instant(now) };
      return productEvent(store, product, times, sequence);
    }
    const group = changedOptionGroup(chance, menu);
    if (group === null) return null;
    this.#menus.set(store.id, withOptionGroup(menu, group));
    const { id, ...data } = group;
    return eventOf(store, 'option_group', id, data, sequence);
  }
}

/** As much as this may be sold out at once; then something comes back first. */
const MOST_SOLD_OUT = 2;

/** A product of the menu with another price, a promotion begun or ended, sold out, or back. */
function changedProduct(chance: Chance, { products }: Menu): MenuProduct {
  const soldOut = products.filter(({ active }) => !active);
  const product = pick(chance, soldOut.length >= MOST_SOLD_OUT ? soldOut : products);
  const { active, price, promotional_price: promotion } = product;
  if (!active) return { ...product, active: true };
  if (cents(price) === 0 || happens(chance, 30)) return { ...product, active: false };
  if (promotion !== null) return { ...product, promotional_price: null };
  if (happens(chance, 50)) return { ...product, promotional_price: promotionalPrice(chance, price) };
  return { ...product, price: priceAt(cents(price), pick(chance, [94, 96, 104, 106])) };
}

/** An option group of the menu in which one option is sold out, or back; `null` where none can be spared. */
function changedOptionGroup(chance: Chance, { optionGroups }: Menu): MenuOptionGroup | null {
  const changeable = optionGroups.filter((group) => toggleable(group).length > 0);
  if (changeable.length === 0) return null;
  const group = pick(chance, changeable);
  return withToggled(group, pick(chance, toggleable(group)));
}

/** What is sold out may come back; the rest only if enough stays that somebody can choose. */
function toggleable(group: MenuOptionGroup) {
  const spare = activeOptions(group).length > Math.max(group.min, 1);
  const soldOut = group.options.filter(({ active }) => !active);
  return soldOut.length >= MOST_SOLD_OUT || !spare ? soldOut : group.options;
}
