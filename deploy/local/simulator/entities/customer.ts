/** Customers of a store: persons with documents, phones and addresses, all invented. */
import type { CustomerState } from '#shared/events/entities/customer.ts';
import { address } from '../brazil/address.ts';
import { cpf } from '../brazil/documents.ts';
import { email, mobilePhone, personName } from '../brazil/person.ts';
import { instant } from '../instant.ts';
import { type Chance, draw, happens } from '../random.ts';
import type { SimulatedStore } from './store.ts';

const DAY = 86_400_000;

export interface SimulatedCustomer {
  id: string;
  state: CustomerState;
}

/** What a customer of a store's history is drawn from; `number` from 1. */
export interface CustomerOrigin {
  seed: number;
  environment: string;
  store: SimulatedStore;
  now: number;
}

/** The n-th customer who knows the store since before its newest orders. */
export function regularCustomer(origin: CustomerOrigin, number: number): SimulatedCustomer {
  const { seed, environment, store, now } = origin;
  return draw(seed, ['customer', environment, store.id, number], (chance) => {
    const age = chance.number.int({ min: 31 * DAY, max: 900 * DAY });
    return customer(chance, store, `c${number}`, now - age);
  });
}

/** The customer after a change of heart: another address, or another mind about advertising. */
export function changedCustomer(
  chance: Chance,
  store: SimulatedStore,
  { id, state }: SimulatedCustomer,
  changedAt: number,
): SimulatedCustomer {
  const changed: CustomerState = { ...state, updated_at: instant(changedAt) };
  if (happens(chance, 50))
    changed.addresses = [address(chance, store.city), ...(state.addresses ?? [])].slice(0, 3);
  else changed.accepts_marketing = state.accepts_marketing !== true;
  return { id, state: changed };
}

/** Somebody who knows the store since then. */
export function customer(
  chance: Chance,
  { city }: SimulatedStore,
  id: string,
  createdAt: number,
): SimulatedCustomer {
  const name = personName(chance);
  const created = instant(createdAt);
  return {
    id,
    state: {
      name,
      document: happens(chance, 70) ? cpf(chance) : null,
      phone: mobilePhone(chance, city),
      email: happens(chance, 60) ? email(name, chance.number.int({ min: 1, max: 999 })) : null,
      birth_date: happens(chance, 40) ? birthDate(chance) : null,
      accepts_marketing: happens(chance, 55),
      addresses: Array.from({ length: happens(chance, 20) ? 2 : 1 }, () => address(chance, city)),
      created_at: created,
      updated_at: created,
    },
  };
}

function birthDate(chance: Chance): string {
  const day = Date.UTC(
    chance.number.int({ min: 1950, max: 2007 }),
    0,
    chance.number.int({ min: 1, max: 365 }),
  );
  return new Date(day).toISOString().slice(0, 10);
}
