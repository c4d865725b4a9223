/** Chance that can be repeated: the same seed and names lead to the same data, whatever was drawn before. */
import { hash } from 'node:crypto';
import type { Faker } from '@faker-js/faker';
import { faker as brazilian } from '@faker-js/faker/locale/pt_BR';

/** A source of chance and of Brazilian names. */
export type Chance = Faker;

// The package's main entry has the class too, but takes 0.3 s to load: seventy languages.
const FakerOfOneLanguage = brazilian.constructor as typeof Faker;

/** The source of what the names describe, such as `['customer', 's1', 7]`: always the same for the same seed. */
export function chanceOf(seed: number, names: readonly (string | number)[]): Chance {
  const chance = new FakerOfOneLanguage({ locale: brazilian.rawDefinitions });
  const words = hash('sha256', [seed, ...names].join('/'), 'buffer');
  chance.seed([words.readInt32LE(0), words.readInt32LE(4), words.readInt32LE(8)]);
  return chance;
}

/** Whether something happens that does so in `percent` of a hundred cases. */
export function happens(chance: Chance, percent: number): boolean {
  return chance.number.float({ max: 100 }) < percent;
}

/** One of the items. */
export function pick<T>(chance: Chance, items: readonly T[]): T {
  return chance.helpers.arrayElement(items);
}

/** The text, or `null` in all but `percent` of a hundred cases. */
export function sometimes<T>(chance: Chance, percent: number, make: () => T): T | null {
  return happens(chance, percent) ? make() : null;
}
