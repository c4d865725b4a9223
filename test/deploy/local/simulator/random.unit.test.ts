/** Chance is the same for the same seed and names, and no other. */
import { expect, test } from 'vitest';
import { draw } from '#local/simulator/random.ts';

const three = (seed: number, ...names: string[]) =>
  draw(seed, names, (chance) => [
    chance.number.float(),
    chance.person.firstName(),
    chance.string.numeric(20),
  ]);

test('repeats what was drawn, whatever was drawn between', () => {
  const first = three(7, 'a');
  three(8, 'b');
  expect(three(7, 'a')).toEqual(first);
});

test('differs by seed and by name', () => {
  expect(three(7, 'a')).not.toEqual(three(8, 'a'));
  expect(three(7, 'a')).not.toEqual(three(7, 'b'));
});

test('a draw inside a draw does not disturb it', () => {
  const plain = draw(1, ['outer'], (chance) => [chance.number.float(), chance.number.float()]);
  const nested = draw(1, ['outer'], (chance) => {
    const first = chance.number.float();
    three(1, 'inner');
    return [first, chance.number.float()];
  });
  expect(nested).toEqual(plain);
});

test('numbers spread evenly', () => {
  const counts = Array.from({ length: 10 }, () => 0);
  draw(3, ['spread'], (chance) => {
    for (let index = 0; index < 10_000; index += 1) {
      const tenth = Math.floor(chance.number.float() * 10);
      counts[tenth] = (counts[tenth] ?? 0) + 1;
    }
  });
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});
