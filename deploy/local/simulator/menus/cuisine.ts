/** A kind of store: what all stores of the kind sell, written down once, with prices in cents. */
import type { WEEKDAYS } from '#shared/events/entities/store.ts';
import type { PriceMethod } from './menu.ts';

export type Weekday = (typeof WEEKDAYS)[number];

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

export interface CategoryRecipe {
  name: string;
  description?: string;
  /** Active when absent. */
  active?: boolean;
  products: readonly ProductRecipe[];
}

export interface ProductRecipe {
  name: string;
  description: string;
  /** Zero where the options chosen make the price. */
  price: number;
  /** Names of option groups of the cuisine. */
  groups?: readonly string[];
  /** How many persons it is for, where the menu says so. */
  serves?: number;
  /** Whether it comes as its maker packed it, with a bar code. */
  packaged?: boolean;
}

export interface OptionGroupRecipe {
  name: string;
  min: number;
  max: number;
  priceMethod: PriceMethod;
  options: readonly (readonly [name: string, price: number, description?: string])[];
}
