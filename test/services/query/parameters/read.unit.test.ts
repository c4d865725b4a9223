import { describe, expect, it } from 'vitest';
import { Refused } from '#query/responses/refusal.ts';
import { customerFilters, orderFilters, paging } from '#query/parameters/filters.ts';
import { id, oneOf, optional, repeatable, required } from '#query/parameters/parameter.ts';
import { parameterReader } from '#query/parameters/read.ts';
import { Text } from '#shared/records/answer.ts';
import { words } from '#test/words.ts';

const orders = parameterReader({ ...paging, ...orderFilters });
const customers = parameterReader({ ...paging, ...customerFilters });

function refusalOf(read: () => unknown) {
  try {
    read();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    expect(error.refusal).toMatchObject({ status: 422, code: 'invalid_parameters' });
    return error.refusal.detail;
  }
  throw new Error('was not refused');
}

describe('valid parameters', () => {
  it('have defaults', () => {
    expect(orders('')).toMatchObject({ page: 1, page_size: 20, status: [], created_from: null });
  });

  it.each([
    ['page=1', { page: 1 }],
    ['page=9007199254740991', { page: Number.MAX_SAFE_INTEGER }],
    ['page_size=100', { page_size: 100 }],
    ['page_size=101', { page_size: 100 }],
    ['page_size=9007199254740991', { page_size: 100 }],
    ['status=preparing&status=pending&status=preparing', { status: ['pending', 'preparing'] }],
    ['created_from=2024-02-29T00:00:00', { created_from: Date.UTC(2024, 1, 29) }],
    ['created_to=2026-01-01T00%3A00%3A00', { created_to: Date.UTC(2026, 0, 1) }],
    ['created_from=0000-01-01T00:00:00', { created_from: -62_167_219_200_000 }],
  ])('%s', (query, values) => expect(orders(query)).toMatchObject(values));

  it.each([
    ['++Jos%C3%A9+da++Silva+', 'José da  Silva'],
    [encodeURIComponent('🍕'.repeat(100)), '🍕'.repeat(100)],
  ])('include a search, which is trimmed: %s', (query, search) => {
    expect(customers(`search=${query}`)).toMatchObject({ search });
  });
});

describe('invalid parameters', () => {
  it.each(
    words(
      'page=0 page=-1 page=+1 page=%2B1 page=01 page=1.0 page=1e2 page=0x1 page=1_0 page=%201',
      'page=1%20 page=9007199254740992 page=99999999999999999999 page=NaN page=%D9%A1 page= page',
      'page=1&page=1 page=% page=%ff page[]=1 page_size=0 page_size= status=Pending status=',
      'status=unknown status=constructor status=__proto__ order_type=toString status=pending,preparing status=pending&status= order_type=table',
      'created_from=2026-02-30T00:00:00 created_from=2025-02-29T00:00:00 created_from=2026-01-01',
      'created_from=2026-01-01T00:00:00Z created_from=2026-01-01T00:00:00-03:00',
      'created_from=2026-01-01T00:00:00.000 created_from=2026-01-01t00:00:00 created_from=2026-01-01T00:00',
      'created_from=2026-01-01T24:00:00 created_from=2026-01-01T00:60:00',
      'created_from=2026-01-01T23:59:60 created_from=2026-01-01+00:00:00',
      'created_from=2026-13-01T00:00:00 created_from=%C2%B2026-01-01T00:00:00',
      'created_from=2026-01-02T00:00:00&created_to=2026-01-01T00:00:00',
      'updated_from=2026-01-01T00:00:01&updated_to=2026-01-01T00:00:00',
    ),
  )('%s', (query) => {
    const name = /^[a-z_]+/.exec(query)?.[0] ?? '';
    expect(refusalOf(() => orders(query))).toContain(name);
  });

  it.each(['search=', 'search=+%20', `search=${'a'.repeat(101)}`])('%s', (query) =>
    expect(refusalOf(() => customers(query))).toContain('search'),
  );

  it.each<readonly [query: string, told: RegExp]>([
    ['statsu=pending', /^unknown parameter statsu; the nearest is status, allowed: page, /],
    ['pageSize=1', /; the nearest is page_size,/],
    ['page[]=1', /^unknown parameter page\[\]; the nearest is page/],
    ['xyz=1', /^unknown parameter xyz; allowed: page, /],
    // Names that other APIs use.
    ['limit=1', /; the nearest is page_size, allowed: page, /],
    ['perPage=1', /; the nearest is page_size, allowed: page, /],
    ['offset=1', /; the nearest is page \(the feeds, such as GET \/api\/changes, have after\), /],
    [
      'store_id=s1',
      /^unknown parameter store_id \(the token has store and environment\); allowed: /,
    ],
    ['status=x', /^status must be one of pending, confirmed, .*, concluded, cancelled$/],
    ['page_size=x', /^page_size must be a whole number from 1/],
    ['status=pending,ready', /; to give several, repeat it: status=…&status=…$/],
    ['status=pending,nothing', /^(?!.*repeat)/],
    ['page=1,2', /^(?!.*repeat)/],
    ['status%5B%5D=pending&status[0]=ready', /^unknown parameter status\[\]; .* without brackets/],
  ])('are answered with the parameter, the nearest one and what is allowed: %s', (query, told) => {
    expect(refusalOf(() => orders(query))).toMatch(told);
  });
  it('of an endpoint without parameters, or of a feed, name what that has', () => {
    const refused = 'unknown parameter environment (the token has store and environment)';
    expect(refusalOf(() => parameterReader({})('environment=x'))).toBe(
      `${refused}; this endpoint has none`,
    );
    const feed = parameterReader({ page_size: paging.page_size, after: paging.page });
    expect(refusalOf(() => feed('cursor=1'))).toMatch(
      /; the nearest is after, allowed: page_size, after$/,
    );
  });
  it('are refused with a shortened name if it is long', () => {
    expect(refusalOf(() => orders(`${'x'.repeat(8_000)}=1`)).length).toBeLessThan(300);
  });
});

describe('a required parameter', () => {
  const meaning = { description: 'What it is.' };
  const read = parameterReader({
    order_id: required(id, meaning),
    kind: optional(oneOf(['a'], Text), meaning),
    more: repeatable(oneOf(['b'], Text), meaning),
  });

  it.each(['order_id=A-z_09', `order_id=${'a'.repeat(64)}`])('%s', (query) =>
    expect(read(query).order_id).toBe(query.slice('order_id='.length)),
  );

  it.each([
    ...words(' order_id=&order_id=a order_id= order_id=a.b order_id=a%20 order_id=%C3%A9'),
    `order_id=${'a'.repeat(65)}`,
  ])('refused: %s', (query) => expect(refusalOf(() => read(query))).toContain('order_id'));
});
