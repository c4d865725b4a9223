/**
 * Makes stores, with their city, cuisine, menu and record, and their customers. All data is
 * invented.
 */
import type { EntityStates } from '#shared/events/entities.ts';
import { type City, cityOf, type Cuisine, cuisineOf, makeMenu, type Menu } from './menu.ts';
import { type Chance, chanceOf, pick, sometimes, instant, money, happens, DAY } from './random.ts';

/** A store. It is the same in every environment. */
export interface SimulatedStore {
  id: string;
  city: City;
  cuisine: Cuisine;
  menu: Menu;
  record: EntityStates['store'];
}

export function simulatedStore(seed: number, index: number): SimulatedStore {
  const chance = chanceOf(seed, ['store', index]);
  const id = `s${index + 1}`;
  const [city, cuisine] = [cityOf(index), cuisineOf(index)];
  const family = chance.person.lastName();
  const name = pick(chance, cuisine.names).replace('{}', family);
  const { days, from: opens, to: closes } = cuisine.opens;
  const created_at = instant(
    Date.UTC(2019, chance.number.int(11), chance.number.int({ min: 1, max: 28 }), 12),
  );
  const record: EntityStates['store'] = {
    name,
    legal_name: `${family} & ${chance.person.lastName()} Alimentos Ltda.`,
    document: chance.string.numeric(14),
    // No Brazilian landline number begins with 0.
    phone: `+55${city.area}0${chance.string.numeric(7)}`,
    email: `contato@${asciiLetters(name)}.example.com`,
    status: 'active',
    timezone_offset: city.timezoneOffset,
    currency: 'BRL',
    order_types: cuisine.indoor ? ['delivery', 'takeout', 'indoor'] : ['delivery', 'takeout'],
    minimum_order_value: money(cuisine.minimumOrder),
    address: address(chance, city),
    opening_hours: days.map((weekday) => ({ weekday, opens, closes })),
    created_at,
    updated_at: created_at,
  };
  return { id, city, cuisine, menu: makeMenu(id, cuisine, chance, created_at), record };
}

export function address(chance: Chance, city: City): NonNullable<EntityStates['store']['address']> {
  const { from, to } = city.postalCodes;
  const near = (degrees: number) =>
    Number((degrees + chance.number.float({ max: 0.04 })).toFixed(4));
  const references = ['Em frente à praça', 'Portão azul', 'Ao lado da farmácia'];
  return {
    street: chance.location.street(),
    number: String(chance.number.int({ min: 1, max: 2500 })),
    complement: sometimes(chance, 45, () => `Apto. ${chance.number.int({ min: 11, max: 208 })}`),
    district: pick(chance, city.districts),
    city: city.name,
    state: city.state,
    postal_code: `${chance.number.int({ min: from, max: to })}${chance.string.numeric(2)}-${chance.string.numeric(3)}`,
    reference: sometimes(chance, 25, () => pick(chance, references)),
    latitude: near(city.latitude),
    longitude: near(city.longitude),
  };
}

function asciiLetters(text: string): string {
  return text
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]/g, '');
}

export type SimulatedCustomer = { id: string; state: EntityStates['customer'] };

/** The history of one store in one environment depends on these and on the number of its orders. */
export interface Origin {
  seed: number;
  environment: string;
  store: SimulatedStore;
  now: number;
}

export function regularCustomers(orders: number): number {
  return Math.max(10, Math.ceil(orders / 4));
}

/** The n-th customer (from 1) of a store, with a record older than all orders of the history. */
export function regularCustomer(
  { seed, environment, store, now }: Origin,
  number: number,
): SimulatedCustomer {
  const chance = chanceOf(seed, ['customer', environment, store.id, number]);
  return customer(
    chance,
    store,
    `c${number}`,
    now - chance.number.int({ min: 31, max: 900 }) * DAY,
  );
}

/** A customer whose record was created at `since`. */
export function customer(
  chance: Chance,
  store: SimulatedStore,
  id: string,
  since: number,
): SimulatedCustomer {
  const { city } = store;
  const name = `${chance.person.firstName()} ${chance.person.lastName()}`;
  const created_at = instant(since);
  const state = {
    name,
    document: sometimes(chance, 70, () => chance.string.numeric(11)),
    // No Brazilian mobile number begins with 90.
    phone: `+55${city.area}90${chance.string.numeric(7)}`,
    email: sometimes(
      chance,
      60,
      () => `${asciiLetters(name)}${chance.string.numeric(3)}@example.com`,
    ),
    birth_date: sometimes(chance, 40, () => `19${chance.number.int({ min: 50, max: 99 })}-05-17`),
    accepts_marketing: happens(chance, 55),
    addresses: Array.from({ length: happens(chance, 20) ? 2 : 1 }, () => address(chance, city)),
    created_at,
    updated_at: created_at,
  };
  return { id, state };
}
