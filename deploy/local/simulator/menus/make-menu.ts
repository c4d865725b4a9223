/** Makes the menu of one store out of what its kind sells: with ids, prices of its own, promotions and gaps. */
import { cents, money } from '../money.ts';
import { type Chance, pick } from '../random.ts';
import type { Cuisine, OptionGroupRecipe, ProductRecipe } from './cuisine.ts';
import { activeOptions, type Menu, type MenuOptionGroup, type MenuProduct, withToggled } from './menu.ts';

/** Options of groups from which so many may be chosen can be had twice. */
const MANY = 3;

/** The menu of a store: the cuisine's dishes at this store's level of prices. */
export function makeMenu(storeId: string, cuisine: Cuisine, chance: Chance): Menu {
  const level = pick(chance, [90, 95, 100, 105, 110, 115]);
  const imageUrl = (id: string) => `https://images.example.com/${storeId}/${id}.jpg`;
  const groups = new Map(
    Object.entries(cuisine.optionGroups).map(([key, recipe], index) => [
      key,
      withGap(chance, optionGroup(recipe, index + 1, level)),
    ]),
  );
  const product = (recipe: ProductRecipe, category: number, position: number): MenuProduct => {
    const number = category * 100 + position;
    const { name, description, price, serves = null, packaged = false } = recipe;
    return {
      id: `p${number}`,
      category_id: `cat${category}`,
      name,
      description,
      price: priceAt(price, level),
      promotional_price: null,
      active: true,
      position,
      image_url: imageUrl(`p${number}`),
      external_code: `PRD-${number}`,
      ean: packaged ? ean13(number) : null,
      serves,
      groups: (recipe.groups ?? []).flatMap((key) => groups.get(key) ?? []),
    };
  };
  return {
    categories: cuisine.categories.map(({ name, description = null, active = true }, index) => {
      const id = `cat${index + 1}`;
      return { id, name, description, active, position: index + 1, image_url: imageUrl(id) };
    }),
    products: withSomeOffers(
      chance,
      cuisine.categories.flatMap(({ products }, index) =>
        products.map((recipe, place) => product(recipe, index + 1, place + 1)),
      ),
    ),
    optionGroups: [...groups.values()],
  };
}

/** A price a fifth or a tenth lower, where there is one to lower. */
export function promotionalPrice(chance: Chance, price: string): string | null {
  return cents(price) === 0 ? null : priceAt(cents(price), pick(chance, [80, 85, 90]));
}

/** Prices end in 0 like those on a real menu; what is free stays free. */
export function priceAt(amount: number, level: number): string {
  return money(Math.round((amount * level) / 1_000) * 10);
}

/** An EAN-13 out of the range 20, which is kept for codes of a shop's own: no maker's product has it. */
function ean13(number: number): string {
  const digits = `20${String(number).padStart(10, '0')}`;
  const sum = Array.from(digits, Number).reduce(
    (total, digit, place) => total + digit * (place % 2 === 0 ? 1 : 3),
    0,
  );
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

/** Two products are on offer, one is sold out. */
function withSomeOffers(chance: Chance, products: readonly MenuProduct[]): MenuProduct[] {
  const [soldOut, ...onOffer] = chance.helpers.arrayElements(products, 3).map(({ id }) => id);
  return products.map((product) => ({
    ...product,
    active: product.id !== soldOut,
    promotional_price: onOffer.includes(product.id) ? promotionalPrice(chance, product.price) : null,
  }));
}

function optionGroup(recipe: OptionGroupRecipe, number: number, level: number): MenuOptionGroup {
  const { name, min, max, priceMethod } = recipe;
  return {
    id: `g${number}`,
    name,
    min,
    max,
    price_method: priceMethod,
    position: number,
    external_code: `GRP-${number}`,
    options: recipe.options.map(({ name: option, price, description = null }, index) => ({
      id: `g${number}-${index + 1}`,
      name: option,
      description,
      price: priceAt(price, level),
      max_quantity: max >= MANY ? 2 : 1,
      active: true,
      position: index + 1,
      external_code: `OPC-${number}${String(index + 1).padStart(2, '0')}`,
    })),
  };
}

/** Where there is enough to choose from, one option is not to be had. */
function withGap(chance: Chance, group: MenuOptionGroup): MenuOptionGroup {
  const isLarge = activeOptions(group).length >= group.min + MANY;
  return isLarge ? withToggled(group, pick(chance, group.options)) : group;
}
