/**
 * Makes the menu of a store from the files in `data/`, with prices of its own, promotions and
 * products that are sold out.
 */
import type { EntityStates } from '#shared/events/entities.ts';
import type { PRICE_METHODS } from '#shared/records/catalog.ts';
import type { WEEKDAYS } from '#shared/records/store.ts';
import { type Chance, happens, pick, money } from './random.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/**
 * Records by their ids. At least `min` options of a group are active. A product whose options make
 * its price costs zero.
 */
export interface Menu {
  categories: ReadonlyMap<string, EntityStates['category']>;
  products: ReadonlyMap<string, EntityStates['product']>;
  optionGroups: ReadonlyMap<string, EntityStates['option_group']>;
}

/** The cuisine's dishes at this store's level of prices. */
export function makeMenu(
  storeId: string,
  cuisine: Cuisine,
  chance: Chance,
  created_at: string,
): Menu {
  const level = pick(chance, [0.9, 0.95, 1, 1.05, 1.1, 1.15]);
  const times = { created_at, updated_at: created_at };
  const image = (id: string) => ({ image_url: `https://images.example.com/${storeId}/${id}.jpg` });
  const keys = Object.keys(cuisine.optionGroups);
  const product = (
    recipe: CategoryRecipe['products'][number],
    category: number,
    position: number,
  ) => {
    const { name, description, price, serves = null, groups = [] } = recipe;
    const id = `p${category * 100 + position}`;
    const isOnOffer = price > 0 && happens(chance, 10);
    const state: EntityStates['product'] = {
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
): EntityStates['option_group'] {
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

/** Prices end in 0, as on a real menu; a price of zero stays zero. */
function rounded(amount: number): string {
  return money(Math.round(amount / 10) * 10);
}

export interface City {
  name: string;
  state: string;
  area: string;
  postalCodes: { from: number; to: number };
  latitude: number;
  longitude: number;
  timezoneOffset: string;
  districts: string[];
}

interface CategoryRecipe {
  name: string;
  description?: string;
  active?: boolean;
  products: {
    name: string;
    description: string;
    price: number;
    groups?: string[];
    serves?: number;
  }[];
}

interface OptionGroupRecipe {
  name: string;
  min: number;
  max: number;
  priceMethod: (typeof PRICE_METHODS)[number];
  options: { name: string; price: number; description?: string }[];
}

export interface Cuisine {
  names: string[];
  opens: { days: (typeof WEEKDAYS)[number][]; from: string; to: string };
  minimumOrder: number;
  indoor: boolean;
  categories: CategoryRecipe[];
  optionGroups: Record<string, OptionGroupRecipe>;
}

/** `days`: begins and ends so many days from now. */
type CouponTerms = Omit<
  EntityStates['coupon'],
  'active' | 'starts_at' | 'ends_at' | 'created_at'
> & {
  id: string;
  days: { from: number; to: number | null };
};
/** `days`: as in a coupon; `null` for a draft. */
type CampaignTerms = Pick<
  EntityStates['campaign'],
  'name' | 'channel' | 'status' | 'audience' | 'coupon_id'
> & {
  message: string;
  days: { from: number; to: number } | null;
};

/**
 * In percent: reviews without a comment (`silent`), and reviews with a reply of the store
 * (`replied`).
 */
type Mood = { comments: string[]; replies: string[]; silent: number; replied: number };

function read(name: string): unknown {
  return parse(readFileSync(join(import.meta.dirname, 'data', `${name}.yaml`), 'utf8'));
}

const { minas, campoGrande } = read('cities') as { minas: City[]; campoGrande: City };
const { everywhere, cuisines } = read('menus') as {
  everywhere: CategoryRecipe[];
  cuisines: Cuisine[];
};
export const COUPONS = read('coupons') as CouponTerms[];
export const CAMPAIGNS = read('campaigns') as CampaignTerms[];
export const MOODS = read('reviews') as Record<'glad' | 'lukewarm' | 'angry', Mood>;

export function cityOf(index: number): City {
  const city = minas[(index - Math.floor(index / 5)) % minas.length];
  return index % 5 === 4 || city === undefined ? campoGrande : city;
}

/**
 * The cuisine of the n-th store (from 0). It shifts at each round, so that a city gets several
 * cuisines.
 */
export function cuisineOf(index: number): Cuisine {
  const cuisine = cuisines[(index + Math.floor(index / cuisines.length)) % cuisines.length];
  if (cuisine === undefined) throw new RangeError('there are no cuisines');
  return { ...cuisine, categories: [...cuisine.categories, ...everywhere] };
}
