import { expect, it } from 'vitest';
import { orderFilters } from '#query/parameters/filters.ts';
import type { Parameter } from '#query/parameters/parameter.ts';
import type { Fields } from '#shared/records/field.ts';
import { RECORDS } from '#shared/records/records.ts';

it('each filter of orders by a field has `filtered` around that field in shared/records/order.ts', () => {
  const { fields, more } = RECORDS.order;
  const all: Fields = { ...fields, ...more };
  const named = Object.entries<Parameter<unknown>>(orderFilters).filter(
    ([, { isField }]) => isField,
  );
  expect(named.filter(([field]) => !all[field]?.isFilter)).toEqual([]);
});
