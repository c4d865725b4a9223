/** Chance that can be repeated: the same seed and names lead to the same data, whatever was drawn before. */
import { hash } from 'node:crypto';
import type { Faker, Randomizer } from '@faker-js/faker';
import { faker as brazilian } from '@faker-js/faker/locale/pt_BR';

/** A source of chance and of Brazilian names. */
export type Chance = Faker;

// The package's main entry has the class too, but takes 0.3 s to load: seventy languages.
const FakerOfOneLanguage = brazilian.constructor as typeof Faker;

/** Sources that nobody draws from now: making one costs a hundred times what seeding it does. */
const idle: Chance[] = [];

/** Draws what the names describe, such as `['customer', 's1', 7]`: always the same for the same seed. */
export function draw<T>(seed: number, names: readonly (string | number)[], make: (chance: Chance) => T): T {
  const chance =
    idle.pop() ?? new FakerOfOneLanguage({ locale: brazilian.rawDefinitions, randomizer: smallRandomizer() });
  const words = hash('sha256', [seed, ...names].join('/'), 'buffer');
  chance.seed([words.readInt32LE(0), words.readInt32LE(4), words.readInt32LE(8)]);
  try {
    return make(chance);
  } finally {
    idle.push(chance);
  }
}

/** Whether something happens that does so in `percent` of a hundred cases. */
export function happens(chance: Chance, percent: number): boolean {
  return chance.number.float({ max: 100 }) < percent;
}

/** One of the items. */
export function pick<T>(chance: Chance, items: readonly T[]): T {
  return chance.helpers.arrayElement(items);
}

/** sfc32: faker's own generator takes thirty microseconds to seed, which is done for every single order. */
function smallRandomizer(): Randomizer {
  let [a, b, c, counter] = [0, 0, 0, 1];
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 0x1_0000_0000;
  };
  return {
    next,
    seed(words) {
      [a = 0, b = 0, c = 0] = [words].flat();
      counter = 1;
      for (let round = 0; round < 12; round += 1) next();
    },
  };
}
