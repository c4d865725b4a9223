/** What changes on a menu while a store is at work: prices, promotions, and what is to be had. */
import { type Chance, happens, pick } from '../random.ts';
import { priceAt, promotionalPrice } from './make-menu.ts';
import { activeOptions, type Menu, type MenuOptionGroup, type MenuProduct } from './menu.ts';

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
