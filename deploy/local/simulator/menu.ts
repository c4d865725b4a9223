/** The menu of one store: what its kind sells, with prices of its own, promotions and gaps. */
import type { CategoryState } from '#shared/events/entities/category.ts';
import type { OptionGroupState } from '#shared/events/entities/option-group.ts';
import type { ProductState } from '#shared/events/entities/product.ts';
import type { CategoryRecipe, Cuisine, OptionGroupRecipe } from './data/read.ts';
import { type Chance, happens, pick } from './random.ts';
import { money } from './values.ts';

/** Records by their ids. At least `min` options of a group are active; the price of a product is zero where its options make it. */
export interface Menu {
  categories: ReadonlyMap<string, CategoryState>;
  products: ReadonlyMap<string, ProductState>;
  optionGroups: ReadonlyMap<string, OptionGroupState>;
}

/** The cuisine's dishes at this store's level of prices. */
export function makeMenu(storeId: string, cuisine: Cuisine, chance: Chance, created_at: string): Menu {
  const level = pick(chance, [0.9, 0.95, 1, 1.05, 1.1, 1.15]);
  const times = { created_at, updated_at: created_at };
  const image = (id: string) => ({ image_url: `https://images.example.com/${storeId}/${id}.jpg` });
  const keys = Object.keys(cuisine.optionGroups);
  const product = (recipe: CategoryRecipe['products'][number], category: number, position: number) => {
    const { name, description, price, serves = null, groups = [] } = recipe;
    const id = `p${category * 100 + position}`;
    const isOnOffer = price > 0 && happens(chance, 10);
    const state: ProductState = {
      category_id: `cat${category}`,
      name,
      description,
      price: rounded(price * level),
      promotional_price: isOnOffer ? rounded(price * level * 0.85) : null,
      active: position === 1 || !happens(chance, 6),
      position,
      ...image(id),
      external_code: `PRD-${id}`,
      serves,
      option_group_ids: groups.map((key) => `g${keys.indexOf(key) + 1}`),
      ...times,
    };
    return [id, state] as const;
  };
  return {
    categories: new Map(
      cuisine.categories.map(({ name, description = null, active = true }, index) => {
        const id = `cat${index + 1}`;
        return [id, { name, description, active, position: index + 1, ...image(id), ...times }];
      }),
    ),
    products: new Map(
      cuisine.categories.flatMap(({ products }, index) =>
        products.map((recipe, place) => product(recipe, index + 1, place + 1)),
      ),
    ),
    optionGroups: new Map(
      Object.values(cuisine.optionGroups).map((recipe, index) => [
        `g${index + 1}`,
        optionGroup(chance, recipe, index + 1, level),
      ]),
    ),
  };
}

function optionGroup(
  chance: Chance,
  { name, min, max, priceMethod: price_method, options: recipes }: OptionGroupRecipe,
  position: number,
  level: number,
): OptionGroupState {
  const options = recipes.map(({ name, description = null, price }, index) => ({
    id: `g${position}-${index + 1}`,
    name,
    description,
    price: rounded(price * level),
    max_quantity: max > 2 ? 2 : 1,
    active: index <= min || !happens(chance, 25),
    position: index + 1,
  }));
  return { name, min, max, price_method, position, external_code: `GRP-${position}`, options };
}

/** Prices end in 0 like those on a real menu; what is free stays free. */
function rounded(amount: number): string {
  return money(Math.round(amount / 10) * 10);
}

/** A product sold out, or back before a third one is. */
export function changedProduct(
  chance: Chance,
  { products }: Menu,
  updated_at: string,
): [string, ProductState] {
  const soldOut = [...products].filter(([, { active }]) => !active);
  const [id, product] = pick(chance, soldOut.length > 1 ? soldOut : [...products]);
  return [id, { ...product, active: !product.active, updated_at }];
}
