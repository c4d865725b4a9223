/** What the files beside this one hold: what stores sell, where they lie, and what people write. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { CampaignState } from '#shared/events/entities/campaign.ts';
import type { CouponState } from '#shared/events/entities/coupon.ts';
import type { PRICE_METHODS } from '#shared/events/entities/option-group.ts';
import type { WEEKDAYS } from '#shared/events/entities/store.ts';

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

export interface CategoryRecipe {
  name: string;
  description?: string;
  active?: boolean;
  products: { name: string; description: string; price: number; groups?: string[]; serves?: number }[];
}

export interface OptionGroupRecipe {
  name: string;
  min: number;
  max: number;
  priceMethod: (typeof PRICE_METHODS)[number];
  options: { name: string; price: number; description?: string }[];
}

/** A kind of store. */
export interface Cuisine {
  names: string[];
  opens: { days: (typeof WEEKDAYS)[number][]; from: string; to: string };
  minimumOrder: number;
  indoor: boolean;
  categories: CategoryRecipe[];
  optionGroups: Record<string, OptionGroupRecipe>;
}

/** `days`: from now, at which it begins and ends. */
export type CouponTerms = Omit<CouponState, 'active' | 'starts_at' | 'ends_at' | 'created_at'> & {
  id: string;
  days: { from: number; to: number | null };
};
/** `days`: as of a coupon; a draft has none. */
export type CampaignTerms = Pick<CampaignState, 'name' | 'channel' | 'status' | 'audience' | 'coupon_id'> & {
  message: string;
  days: { from: number; to: number } | null;
};

/** `silent` and `replied`: in percent of those who write, and of what they write. */
type Mood = { comments: string[]; replies: string[]; silent: number; replied: number };

function read(name: string): unknown {
  return parse(readFileSync(join(import.meta.dirname, `${name}.yaml`), 'utf8'));
}

const { minas, campoGrande } = read('cities') as { minas: City[]; campoGrande: City };
const { everywhere, cuisines } = read('menus') as { everywhere: CategoryRecipe[]; cuisines: Cuisine[] };
export const COUPONS = read('coupons') as CouponTerms[];
export const CAMPAIGNS = read('campaigns') as CampaignTerms[];
export const MOODS = read('reviews') as Record<'glad' | 'lukewarm' | 'angry', Mood>;

/** The city of the n-th store (from 0): every fifth store lies in the other time zone. */
export function cityOf(index: number): City {
  const city = minas[(index - Math.floor(index / 5)) % minas.length];
  return index % 5 === 4 || city === undefined ? campoGrande : city;
}

/** The kind of the n-th store (from 0). Shifted at each round, so that no city is bound to one kind. */
export function cuisineOf(index: number): Cuisine {
  const cuisine = cuisines[(index + Math.floor(index / cuisines.length)) % cuisines.length];
  if (cuisine === undefined) throw new RangeError('there is a kind of store');
  return { ...cuisine, categories: [...cuisine.categories, ...everywhere] };
}
