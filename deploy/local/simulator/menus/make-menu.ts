/** Makes the menu of one store out of what its kind sells: with ids, prices of its own, promotions and gaps. */
import { type Chance, pick } from '../random.ts';
import type { Cuisine, OptionGroupRecipe, ProductRecipe } from './cuisine.ts';
import { activeOptions, type Menu, type MenuOptionGroup, type MenuProduct } from './menu.ts';

/** Options of groups from which so many may be chosen can be had twice. */
const MANY = 3;

/** The menu of one store: the cuisine's dishes at this store's level of prices. */
export function makeMenu(cuisine: Cuisine, chance: Chance): Menu {
  const level = pick(chance, [90, 95, 100, 105, 110, 115]);
  const groups = new Map(
    Object.entries(cuisine.optionGroups).map(([key, recipe], index) => [
      key,
      withGap(chance, optionGroup(recipe, index + 1, level)),
    ]),
  );
  const products = cuisine.categories.flatMap((category, index) =>
    category.products.map((recipe, place) => product(recipe, index + 1, place + 1, level, groups)),
  );
  return {
    categories: cuisine.categories.map(({ name, description = null, active = true }, index) => ({
      id: categoryId(index + 1),
      name,
      description,
      active,
      position: index + 1,
    })),
    products: withSomeOffers(chance, products),
    optionGroups: [...groups.values()],
  };
}

/** A price a fifth or a tenth lower, where there is one to lower. */
export function promotionalPrice(chance: Chance, price: number): number | null {
  return price === 0 ? null : priceAt(price, pick(chance, [80, 85, 90]));
}

/** Prices end in 0 like those on a real menu; what is free stays free. */
export function priceAt(cents: number, level: number): number {
  return Math.round((cents * level) / 1_000) * 10;
}

function categoryId(number: number): string {
  return `cat${number}`;
}

function product(
  recipe: ProductRecipe,
  category: number,
  position: number,
  level: number,
  groups: ReadonlyMap<string, MenuOptionGroup>,
): MenuProduct {
  const number = category * 100 + position;
  return {
    id: `p${number}`,
    number,
    categoryId: categoryId(category),
    name: recipe.name,
    description: recipe.description,
    price: priceAt(recipe.price, level),
    promotionalPrice: null,
    active: true,
    position,
    externalCode: `PRD-${number}`,
    packaged: recipe.packaged ?? false,
    serves: recipe.serves ?? null,
    groups: (recipe.groups ?? []).flatMap((key) => groups.get(key) ?? []),
  };
}

/** Two products are on offer, one is sold out. */
function withSomeOffers(chance: Chance, products: readonly MenuProduct[]): MenuProduct[] {
  const [soldOut, ...onOffer] = chance.helpers.arrayElements(products, 3).map(({ id }) => id);
  return products.map((product) => ({
    ...product,
    active: product.id !== soldOut,
    promotionalPrice: onOffer.includes(product.id) ? promotionalPrice(chance, product.price) : null,
  }));
}

function optionGroup(recipe: OptionGroupRecipe, number: number, level: number): MenuOptionGroup {
  const { name, min, max, priceMethod } = recipe;
  return {
    id: `g${number}`,
    name,
    min,
    max,
    priceMethod,
    position: number,
    externalCode: `GRP-${number}`,
    options: recipe.options.map(({ name, price, description = null }, index) => ({
      id: `g${number}-${index + 1}`,
      name,
      description,
      price: priceAt(price, level),
      maxQuantity: max >= MANY ? 2 : 1,
      active: true,
      position: index + 1,
      externalCode: `OPC-${number}${String(index + 1).padStart(2, '0')}`,
    })),
  };
}

/** Where there is enough to choose from, one option is not to be had. */
function withGap(chance: Chance, group: MenuOptionGroup): MenuOptionGroup {
  if (activeOptions(group).length < group.min + MANY) return group;
  const missing = pick(chance, group.options).id;
  return {
    ...group,
    options: group.options.map((option) => ({ ...option, active: option.id !== missing })),
  };
}
