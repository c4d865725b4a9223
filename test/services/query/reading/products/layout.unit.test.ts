import { describe, expect, it } from 'vitest';
import { piecesOf, shelvesOf } from '#query/reading/products/layout.ts';

describe('the shelves of a store', () => {
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
    expect(shelvesOf('s1', positions, products)).toEqual([
      { categories: ['first'], products: 4 },
      { categories: ['a', 'b'], products: 5 },
      { categories: ['', 'gone'], products: 6 },
    ]);
  });
});

describe('the pieces of a page', () => {
  const shelves = [
    { categories: ['a'], products: 3 },
    { categories: ['b', 'c'], products: 2 },
    { categories: [''], products: 4 },
  ];
  /** The same by counting products one by one. */
  const counted = (skip: number, limit: number) => {
    const all = shelves.flatMap(({ products }, shelf) =>
      Array.from({ length: products }, (_, at) => ({ shelf, at })),
    );
    const page = all.slice(skip, skip + limit);
    return [...Map.groupBy(page, ({ shelf }) => shelf)].map(([shelf, rows]) => ({
      categories: shelves[shelf]?.categories,
      skip: rows[0]?.at,
      limit: rows.length,
    }));
  };

  it('hold every product once, whatever the page', () => {
    for (let skip = 0; skip < 11; skip += 1) {
      for (let limit = 1; limit < 11; limit += 1) {
        expect(piecesOf(shelves, skip, limit)).toEqual(counted(skip, limit));
      }
    }
  });
});
