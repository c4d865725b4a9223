/** Stores: many, none like the other, in two time zones, with menus whose parts belong together. */
import { expect, test } from 'vitest';
import { simulatedStore } from '#local/simulator/entities/store.ts';

const stores = Array.from({ length: 100 }, (_, index) => simulatedStore(1, index));

test('every fifth store lies an hour behind the others', () => {
  const offsets = stores.map(({ city }) => city.timezoneOffset);
  expect(offsets.slice(0, 5)).toEqual(['-03:00', '-03:00', '-03:00', '-03:00', '-04:00']);
  expect(offsets.filter((offset) => offset === '-04:00')).toHaveLength(20);
});

test('every kind of store lies in more than one city', () => {
  const cities = Map.groupBy(stores, ({ cuisine }) => cuisine.names[0]);
  expect(cities.size).toBe(5);
  for (const ofKind of cities.values()) {
    expect(new Set(ofKind.map(({ city }) => city.name)).size).toBeGreaterThan(1);
  }
});

test('ids of a menu are unique, and every option group can be satisfied', () => {
  for (const { menu } of stores.slice(0, 5)) {
    const ids = [...menu.categories, ...menu.products, ...menu.optionGroups].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { min, max, options } of menu.optionGroups) {
      expect(min).toBeLessThanOrEqual(max);
      expect(options.length).toBeGreaterThanOrEqual(min);
    }
    for (const { groups } of menu.products)
      for (const group of groups) expect(menu.optionGroups).toContain(group);
  }
});

test('a recipe names no option group that its cuisine does not have', () => {
  for (const { cuisine } of stores.slice(0, 5)) {
    const named = cuisine.categories.flatMap(({ products }) =>
      products.flatMap(({ groups }) => groups ?? []),
    );
    for (const name of named) expect(Object.keys(cuisine.optionGroups)).toContain(name);
  }
});
