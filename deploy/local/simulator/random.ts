/** Shared by the files of the simulator: seeded random values, money in cents, times, events. */
import { hash } from 'node:crypto';
import type { Faker } from '@faker-js/faker';
import { faker as brazilian } from '@faker-js/faker/locale/pt_BR';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import type { EntityName, EntityStates } from '#shared/events/entities.ts';
import { encodeEvent, type EncodedMessage } from '#shared/events/topics.ts';

export type Chance = Faker;

// The package's main entry exports the class too, but loads seventy languages, which takes 0.3 s.
const FakerOfOneLanguage = brazilian.constructor as typeof Faker;

/**
 * The random source of what the names describe, such as `['customer', 's1', 7]`: the same seed
 * gives the same values.
 */
export function chanceOf(seed: number, names: readonly (string | number)[]): Chance {
  const chance = new FakerOfOneLanguage({ locale: brazilian.rawDefinitions });
  const words = hash('sha256', [seed, ...names].join('/'), 'buffer');
  chance.seed([words.readInt32LE(0), words.readInt32LE(4), words.readInt32LE(8)]);
  return chance;
}

export function happens(chance: Chance, percent: number): boolean {
  return chance.number.float({ max: 100 }) < percent;
}

export function pick<T>(chance: Chance, items: readonly T[]): T {
  return chance.helpers.arrayElement(items);
}

export function sometimes<T>(chance: Chance, percent: number, make: () => T): T | null {
  return happens(chance, percent) ? make() : null;
}

export const [MINUTE, DAY] = [60_000, 86_400_000];

/** Cents as events carry money: `3990` is `"39.90"`. */
export function money(amount: number): string {
  return (amount / 100).toFixed(2);
}

export function cents(text: string): number {
  return Number(text.replace('.', ''));
}

export function percentOf(amount: number, percent: number): number {
  return Math.round((amount * percent) / 100);
}

export function instant(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** When the local day starts that comes `days` after the one of `now`. */
export function localDay(now: number, offset: string, days: number): number {
  const shift = offsetMilliseconds(offset);
  return (Math.floor((now + shift) / DAY) + days) * DAY - shift;
}

/** A union that TypeScript narrows by `entity`; `subject` is the entity's id. */
export type SimulatedEvent = {
  [E in EntityName]: {
    entity: E;
    storeId: string;
    subject: string;
    sequence: number;
    data: EntityStates[E];
  };
}[EntityName];

export function eventOf<E extends EntityName>(
  store: { id: string },
  entity: E,
  subject: string,
  data: EntityStates[E],
  sequence = 1,
): SimulatedEvent {
  return { entity, storeId: store.id, subject, sequence, data } as SimulatedEvent;
}

export function asMessage(event: SimulatedEvent): EncodedMessage {
  return encodeEvent({ ...event, source: `/simulator/${event.storeId}` });
}
