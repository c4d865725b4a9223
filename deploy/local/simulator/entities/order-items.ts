/** What somebody orders: dishes of the menu with their options, and what they cost. */
import type { OrderState } from '#shared/events/entities/order.ts';
import {
  activeOptions,
  type MenuOption,
  type MenuOptionGroup,
  type MenuProduct,
  onSale,
  priceOf,
} from '../menus/menu.ts';
import { cents, money } from '../money.ts';
import { type Chance, happens, pick } from '../random.ts';
import type { SimulatedStore } from './store.ts';

type Item = NonNullable<OrderState['items']>[number];
type ItemOption = NonNullable<Item['options']>[number];

const NOTES = ['Pode caprichar, por favor', 'Sem talheres', 'Embalar separado', 'É para presente'];

/** Items and the sum of their totals in cents, at least the store's minimum order. */
export function orderItems(chance: Chance, store: SimulatedStore): { items: Item[]; subtotal: number } {
  const items: Item[] = [];
  const products = onSale(store.menu);
  let subtotal = 0;
  const wanted = chance.helpers.weightedArrayElement([
    { weight: 4, value: 1 },
    { weight: 4, value: 2 },
    { weight: 2, value: 3 },
    { weight: 1, value: 4 },
  ]);
  while (items.length < wanted || subtotal < store.cuisine.minimumOrder) {
    const { item, total } = orderItem(chance, pick(chance, products), items.length + 1);
    items.push(item);
    subtotal += total;
  }
  return { items, subtotal };
}

function orderItem(chance: Chance, product: MenuProduct, place: number): { item: Item; total: number } {
  const quantity = happens(chance, 20) ? chance.number.int({ min: 2, max: 4 }) : 1;
  let unitPrice = priceOf(product);
  let optionPrice = 0;
  const options: ItemOption[] = [];
  for (const group of product.groups) {
    const chosen = chooseOptions(chance, group);
    const prices = chosen.map(({ price }) => cents(price));
    const summed = group.price_method === 'sum';
    // Half-and-half: what the halves cost together is the price of the dish, and no half has one of its own.
    if (summed) optionPrice += sum(prices);
    else if (group.price_method === 'max') unitPrice += Math.max(0, ...prices);
    else unitPrice += Math.round(sum(prices) / Math.max(1, prices.length));
    options.push(...chosen.map((option) => itemOption(group, option, summed ? option.price : money(0))));
  }
  const total = quantity * (unitPrice + optionPrice);
  const item: Item = {
    id: `i${place}`,
    product_id: product.id,
    external_code: product.external_code ?? null,
    name: product.name,
    quantity,
    unit_price: money(unitPrice),
    options,
    notes: happens(chance, 12) ? pick(chance, NOTES) : null,
    total: money(total),
  };
  return { item, total };
}

/** As many as the group asks for; seldom as many as it allows. */
function chooseOptions(chance: Chance, group: MenuOptionGroup): MenuOption[] {
  const { min, max } = group;
  const options = activeOptions(group);
  const most = Math.min(max, options.length, min + 2);
  return chance.helpers.arrayElements(options, { min, max: happens(chance, 50) ? Math.max(min, 1) : most });
}

function sum(prices: readonly number[]): number {
  return prices.reduce((total, price) => total + price, 0);
}

function itemOption(group: MenuOptionGroup, option: MenuOption, price: string): ItemOption {
  return {
    option_group_id: group.id,
    option_id: option.id,
    external_code: option.external_code ?? null,
    name: option.name,
    quantity: 1,
    unit_price: price,
  };
}
