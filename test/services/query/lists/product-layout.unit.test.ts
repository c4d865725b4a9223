import { describe, expect, it } from 'vitest';
import { segmentsOf, categoryGroupsOf } from '#query/lists/product-layout.ts';

describe('the groups of a store', () => {
  it('are its categories in order, those of one position together, and at the end whatever is unknown', () => {
    const positions = new Map([
      ['s1/b', 2],
      ['s1/a', 2],
      ['s1/first', 0],
      ['s1/empty', 1],
    ]);
    const products = new Map([
      ['s1/', 1],
      ['s1/a', 2],
      ['s1/b', 3],
      ['s1/first', 4],
      ['s1/gone', 5],
    ]);
    expect(categoryGroupsOf('s1', positions, products)).toEqual([
      { categories: ['first'], products: 4 },
      { categories: ['a', 'b'], products: 5 },
      { categories: ['', 'gone'], products: 6 },
    ]);
  });
});

describe('the pieces of a page', () => {
  const groups = [
    { categories: ['a'], products: 3 },
    { categories: ['b', 'c'], products: 2 },
    { categories: [''], products: 4 },
  ];
  /** The same by counting products one by one. */
  const counted = (skip: number, limit: number) => {
    const all = groups.flatMap(({ products }, group) =>
      Array.from({ length: products }, (_, at) => ({ group, at })),
    );
    const page = all.slice(skip, skip + limit);
    return [...Map.groupBy(page, ({ group }) => group)].map(([group, rows]) => ({
      categories: groups[group]?.categories,
      skip: rows[0]?.at,
      limit: rows.length,
    }));
  };

  it('hold every product once, whatever the page', () => {
    for (let skip = 0; skip < 11; skip += 1) {
      for (let limit = 1; limit < 11; limit += 1) {
        expect(segmentsOf(groups, skip, limit)).toEqual(counted(skip, limit));
      }
    }
  });
});
