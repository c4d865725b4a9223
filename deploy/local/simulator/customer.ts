/** Customers of a store: persons with phones and addresses, all invented. */
import type { CustomerState } from '#shared/events/entities/customer.ts';
import { type Chance, chanceOf, happens, sometimes } from './random.ts';
import { address, asciiLetters, type SimulatedStore } from './store.ts';
import { DAY, instant } from './values.ts';

export type SimulatedCustomer = { id: string; state: CustomerState };

/** What the history of one store in one environment is drawn from. */
export interface Origin {
  seed: number;
  environment: string;
  store: SimulatedStore;
  now: number;
}

/** How many regular customers a store has for so many orders. */
export function regularCustomers(orders: number): number {
  return Math.max(10, Math.ceil(orders / 4));
}

/** The n-th customer (from 1) who knows the store since before its newest orders. */
export function regularCustomer(
  { seed, environment, store, now }: Origin,
  number: number,
): SimulatedCustomer {
  const chance = chanceOf(seed, ['customer', environment, store.id, number]);
  return customer(chance, store, `c${number}`, now - chance.number.int({ min: 31, max: 900 }) * DAY);
}

/** Somebody who knows the store since then. */
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
    // No operator gives out mobile numbers that begin with 90.
    phone: `+55${city.area}90${chance.string.numeric(7)}`,
    email: sometimes(chance, 60, () => `${asciiLetters(name)}${chance.string.numeric(3)}@example.com`),
    birth_date: sometimes(chance, 40, () => `19${chance.number.int({ min: 50, max: 99 })}-05-17`),
    accepts_marketing: happens(chance, 55),
    addresses: Array.from({ length: happens(chance, 20) ? 2 : 1 }, () => address(chance, city)),
    created_at,
    updated_at: created_at,
  };
  return { id, state };
}
