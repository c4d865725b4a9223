import { expect, it } from 'vitest';
import { RECORDS } from '#shared/records/records.ts';

it.each([
  ['campaign', 'status'],
  ['coupon', 'active'],
] as const)(
  'the filter of each %s by `%s` finds a field that is stored by itself',
  (kind, field) => {
    expect(RECORDS[kind].fields).toHaveProperty([field, 'isFilter'], true);
  },
);
