/** The menus of one environment's stores as they are now: prices and what is to be had change while they work. */
import { optionGroupState } from './entities/option-group.ts';
import { productState } from './entities/product.ts';
import type { SimulatedStore } from './entities/store.ts';
import type { SimulatedEvent } from './event.ts';
import { changedOptionGroup, changedProduct } from './menus/change-menu.ts';
import { type Menu, withOptionGroup, withProduct } from './menus/menu.ts';
import { type Chance, happens } from './random.ts';

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
