/** Kinds of stores: what all stores of a kind sell (`data/menus.yaml`). */
import { Type } from 'typebox';
import { PRICE_METHODS } from '#shared/events/entities/option-group.ts';
import { WEEKDAYS } from '#shared/events/entities/store.ts';
import { readData } from '../data/read.ts';

const ProductRecipe = Type.Object({
  name: Type.String(),
  description: Type.String(),
  price: Type.Integer(),
  /** Names of option groups of the cuisine. */
  groups: Type.Optional(Type.Array(Type.String())),
  /** How many persons it is for, where the menu says so. */
  serves: Type.Optional(Type.Integer()),
  /** Whether it comes as its maker packed it, with a bar code. */
  packaged: Type.Optional(Type.Boolean()),
});
export type ProductRecipe = Type.Static<typeof ProductRecipe>;

const CategoryRecipe = Type.Object({
  name: Type.String(),
  description: Type.Optional(Type.String()),
  /** Active when absent. */
  active: Type.Optional(Type.Boolean()),
  products: Type.Array(ProductRecipe),
});

const OptionGroupRecipe = Type.Object({
  name: Type.String(),
  min: Type.Integer(),
  max: Type.Integer(),
  priceMethod: Type.Enum([...PRICE_METHODS]),
  options: Type.Array(
    Type.Object({ name: Type.String(), price: Type.Integer(), description: Type.Optional(Type.String()) }),
  ),
});
export type OptionGroupRecipe = Type.Static<typeof OptionGroupRecipe>;

const Cuisine = Type.Object({
  names: Type.Array(Type.String()),
  /** When it is open; the days left out it is closed. */
  opens: Type.Object({
    days: Type.Array(Type.Enum([...WEEKDAYS])),
    from: Type.String(),
    to: Type.String(),
  }),
  minimumOrder: Type.Integer(),
  indoor: Type.Boolean(),
  categories: Type.Array(CategoryRecipe),
  optionGroups: Type.Record(Type.String(), OptionGroupRecipe),
});
export type Cuisine = Type.Static<typeof Cuisine>;

const { everywhere, cuisines } = readData(
  'menus',
  Type.Object({ everywhere: Type.Array(CategoryRecipe), cuisines: Type.Array(Cuisine, { minItems: 1 }) }),
);
const CUISINES = cuisines.map((cuisine) => ({
  ...cuisine,
  categories: [...cuisine.categories, ...everywhere],
}));

/** The kind of the n-th store (from 0). Shifted at each round, so that no city is bound to one kind. */
export function cuisineOf(index: number): Cuisine {
  const round = Math.floor(index / CUISINES.length);
  const cuisine = CUISINES[(index + round) % CUISINES.length];
  if (cuisine === undefined) throw new RangeError('there is a kind of store');
  return cuisine;
}
