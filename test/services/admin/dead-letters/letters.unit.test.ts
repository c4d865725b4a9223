import { expect, it } from 'vitest';
import { structureOf } from '#admin/dead-letters/messages.ts';

it('the structure of a dead letter is shown with a bounded length and depth', () => {
  const wide = structureOf(
    Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, 1])),
  );
  expect(wide).toHaveLength(61);
  expect(wide.at(-1)).toBe('…');
  let deep: unknown = 1;
  for (let level = 0; level < 500; level += 1) deep = [deep];
  expect(structureOf(deep).length).toBeLessThan(10);
});
