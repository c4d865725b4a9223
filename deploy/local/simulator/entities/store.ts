/** Stores: where they lie, what they sell, when they are open, and their record. */
import type { StoreState } from '#shared/events/entities/store.ts';
import { address } from '../brazil/address.ts';
import { type City, cityOf } from '../brazil/cities.ts';
import { cnpj } from '../brazil/documents.ts';
import { asciiLetters } from '../brazil/person.ts';
import { instant } from '../instant.ts';
import { type Cuisine, cuisineOf } from '../menus/cuisine.ts';
import { makeMenu } from '../menus/make-menu.ts';
import type { Menu } from '../menus/menu.ts';
import { money } from '../money.ts';
import { type Chance, draw, pick } from '../random.ts';

const DAY = 86_400_000;

/** A store that takes orders. The same in every environment, as a real store is. */
export interface SimulatedStore {
  id: string;
  name: string;
  city: City;
  cuisine: Cuisine;
  menu: Menu;
  /** How long it has been open, in milliseconds. */
  age: number;
  /** How many times as many orders as the least popular store it gets. */
  popularity: number;
  deliveryFees: readonly number[];
  record: (now: number) => StoreState;
}

/** The n-th store (from 0). */
export function simulatedStore(seed: number, index: number): SimulatedStore {
  return draw(seed, ['store', index], (chance) => makeStore(chance, index));
}

function makeStore(chance: Chance, index: number): SimulatedStore {
  const id = `s${index + 1}`;
  const city = cityOf(index);
  const cuisine = cuisineOf(index);
  const family = chance.person.lastName();
  const name = pick(chance, cuisine.names).replace('{}', family);
  const menu = makeMenu(id, cuisine, chance);
  const fee = chance.number.int({ min: 4, max: 8 }) * 100;
  const age = chance.number.int({ min: 200, max: 1_500 }) * DAY;
  const fixed: Omit<StoreState, 'created_at' | 'updated_at'> = {
    name,
    legal_name: `${family} & ${chance.person.lastName()} Alimentos Ltda.`,
    document: cnpj(chance),
    // No area has a landline whose number begins with 0.
    phone: `+55${city.area}0${chance.string.numeric(7)}`,
    email: `contato@${asciiLetters(name)}.example.com`,
    status: 'active',
    timezone_offset: city.timezoneOffset,
    currency: 'BRL',
    order_types: cuisine.indoor ? ['delivery', 'takeout', 'indoor'] : ['delivery', 'takeout'],
    minimum_order_value: money(cuisine.minimumOrder),
    address: address(chance, city),
    opening_hours: cuisine.opens.days.map((weekday) => ({
      weekday,
      opens: cuisine.opens.from,
      closes: cuisine.opens.to,
    })),
  };
  const record = (now: number): StoreState => ({
    ...fixed,
    created_at: instant(now - age),
    updated_at: instant(now - age / 10),
  });
  return {
    id,
    name,
    city,
    cuisine,
    menu,
    age,
    popularity: chance.number.int({ min: 1, max: 4 }),
    deliveryFees: [0, fee, fee, fee + 200, fee + 400],
    record,
  };
}
