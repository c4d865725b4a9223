import { expect, it } from 'vitest';
import { conditionsOf } from '#query/lists/request.ts';
import { orderFilters } from '#query/parameters/filters.ts';
import {
  flag,
  oneOf,
  ofField,
  optional,
  type Parameter,
  repeatable,
} from '#query/parameters/parameter.ts';
import { Text } from '#shared/records/answer.ts';
import type { Fields } from '#shared/records/field.ts';
import { RECORDS } from '#shared/records/records.ts';

it('a filter of a stored field is a condition on it, if it is given', () => {
  const words = ['a', 'b'] as const;
  const filters = {
    status: ofField('status', repeatable(oneOf(words, Text), { description: '' })),
    on: ofField('active', optional(flag, { description: '' })),
    other: optional(flag, { description: '' }),
  };
  const none = { status: [], on: null, other: true };
  expect(conditionsOf(filters, none)).toBeNull();
  expect(conditionsOf(filters, { ...none, on: false })).toEqual({ active: false });
  expect(conditionsOf(filters, { ...none, status: words })).toEqual({ status: { $in: words } });
});

it('each filter of orders by a field has `filtered` around that field in shared/records/order.ts', () => {
  const { fields, more } = RECORDS.order;
  const all: Fields = { ...fields, ...more };
  const named = Object.values<Parameter<unknown>>(orderFilters).flatMap(({ field = [] }) => field);
  expect(named.filter((field) => !all[field]?.isFilter)).toEqual([]);
});
