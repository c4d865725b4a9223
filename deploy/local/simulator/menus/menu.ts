/** What a kind of store sells: written down once for each kind (the recipe), and as one store has it (the menu). */
import { type Chance, oneOf } from '../random.ts';
import type { WEEKDAYS } from '#shared/events/entities/store.ts';

export type Weekday = (typeof WEEKDAYS)[number];

/** How the prices of the chosen options become one: `max` and `average` are for half-and-half pizzas. */
export type PriceMethod = 'sum' | 'max' | 'average';

/** A kind of store. All prices in cents. */
export interface Cuisine {
  key: string;
  /** Names of stores; `{}` stands for a family name. */
  names: readonly string[];
  /** When it is open; the days left out it is closed. */
  opens: { days: readonly Weekday[]; from: string; to: string };
  minimumOrder: number;
  indoor: boolean;
  categories: readonly CategoryRecipe[];
  optionGroups: Readonly<Record<string, OptionGroupRecipe>>;
}

interface CategoryRecipe {
  name: string;
  products: readonly ProductRecipe[];
}

interface ProductRecipe {
  name: string;
  description: string;
  price: number;
  /** Names of option groups of the cuisine. */
  groups?: readonly string[];
}

interface OptionGroupRecipe {
  name: string;
  min: number;
  max: number;
  priceMethod: PriceMethod;
  options: readonly (readonly [name: string, price: number])[];
}

export interface MenuOption {
  id: string;
  name: string;
  price: number;
  externalCode: string;
}

export interface MenuOptionGroup {
  id: string;
  name: string;
  min: number;
  max: number;
  priceMethod: PriceMethod;
  options: MenuOption[];
}

export interface MenuProduct {
  id: string;
  name: string;
  description: string;
  price: number;
  externalCode: string;
  groups: MenuOptionGroup[];
}

export interface MenuCategory {
  id: string;
  name: string;
  products: MenuProduct[];
}

export interface Menu {
  categories: MenuCategory[];
  products: MenuProduct[];
  optionGroups: MenuOptionGroup[];
}

/** The menu of one store: the cuisine's dishes with ids, at this store's level of prices. */
export function menuOf(cuisine: Cuisine, chance: Chance): Menu {
  const level = oneOf(chance, [90, 95, 100, 105, 110, 115]);
  const groups = new Map(
    Object.entries(cuisine.optionGroups).map(([key, recipe], index) => [
      key,
      optionGroup(recipe, index + 1, level),
    ]),
  );
  const categories = cuisine.categories.map((category, index) => ({
    id: `cat${index + 1}`,
    name: category.name,
    products: category.products.map((recipe, place) =>
      product(recipe, (index + 1) * 100 + place + 1, level, groups),
    ),
  }));
  return {
    categories,
    products: categories.flatMap(({ products }) => products),
    optionGroups: [...groups.values()],
  };
}

function product(
  { name, description, price, groups = [] }: ProductRecipe,
  number: number,
  level: number,
  known: ReadonlyMap<string, MenuOptionGroup>,
): MenuProduct {
  return {
    id: `p${number}`,
    name,
    description,
    price: priceAt(price, level),
    externalCode: `PRD-${number}`,
    groups: groups.flatMap((key) => known.get(key) ?? []),
  };
}

function optionGroup(recipe: OptionGroupRecipe, number: number, level: number): MenuOptionGroup {
  const { name, min, max, priceMethod } = recipe;
  const options = recipe.options.map(([name, price], index) => ({
    id: `g${number}-${index + 1}`,
    name,
    price: priceAt(price, level),
    externalCode: `OPC-${number}${String(index + 1).padStart(2, '0')}`,
  }));
  return { id: `g${number}`, name, min, max, priceMethod, options };
}

/** Prices end in 0 like those on a real menu; what is free stays free. */
function priceAt(cents: number, level: number): number {
  return Math.round((cents * level) / 1_000) * 10;
}
