import { beforeAll, describe, expect, it } from 'vitest';
import { aCustomer, anOrder } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { type TestChange } from '#test/query-service.ts';
import { words } from '#test/words.ts';

const service = useQueryService();
let token: string;

const order = (id: string, created_at: string, more: object = {}): TestChange => ({
  ...anOrder(id, { created_at, ...more }),
  time: created_at,
});
const customer = (
  id: string,
  name: string,
  created_at = '2026-01-01T12:00:00Z',
  more: object = {},
) => aCustomer(id, { name, created_at, ...more });

beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'full' });
  await service.apply([
    order('o1', '2026-03-01T12:00:00.000Z', { customer: { id: 'c1', name: 'Ana' } }),
    order('o2', '2026-03-01T12:00:00.999Z', { status: 'preparing', customer: { id: 'nobody' } }),
    order('o3', '2026-03-01T12:00:01.000Z', { status: 'cancelled', order_type: 'takeout' }),
    order('o4', '2026-03-02T02:59:59.500Z', {
      order_type: 'indoor',
      updated_at: '2026-04-01T00:00:00Z',
    }),
    order('tie-b', '2026-02-01T00:00:00.123Z'),
    order('tie-a', '2026-02-01T00:00:00.123Z'),
    order('tie-C', '2026-02-01T00:00:00.123Z'),
    order('tie_', '2026-02-01T00:00:00.124Z'),
    customer('c1', 'Álvaro', undefined, {
      document: '123.456.789-09',
      phone: '+55 (11) 98765-4321',
    }),
    customer('c2', 'ana maria', '2026-02-01T03:00:00.400Z', { document: '12.ABC.345/01DE-35' }),
    customer('c3', 'ANA MARIA'),
    customer('c4', 'Zoë'),
    customer('c5', 'Łukasz'),
    customer('c6', '🍕 Pizza'),
    customer('c7', 'ｚ wide'),
    customer('c8', 'a.*b (x) 50%'),
  ]);
});

const ids = async (path: string) =>
  (await service.api.list(path, token)).results.map((record) => record['id']);

describe('before the store’s own record has arrived', () => {
  it('lists answer with the offset -03:00, and store info 404', async () => {
    const [first] = (await service.api.list('/api/order/list', token)).results;
    expect(first).toMatchObject({ id: 'o4', created_at: '2026-03-01T23:59:59' });
    expect((await service.api.get('/api/store/info/', token)).status).toBe(404);
  });
});

describe('orders', () => {
  it('are sorted newest first by millisecond, ties by id in code point order', async () => {
    expect(await ids('/api/order/list')).toEqual(words('o4 o3 o2 o1 tie_ tie-C tie-a tie-b'));
  });

  it.each([
    ['status=preparing', ['o2']],
    ['status=preparing&status=cancelled', ['o3', 'o2']],
    ['status=ready', []],
    ['created_from=2026-03-01T09:00:00&created_to=2026-03-01T09:00:00', ['o2', 'o1']],
    ['created_to=2026-03-01T08:59:59&status=pending', ['tie_', 'tie-C', 'tie-a', 'tie-b']],
    ['created_to=2026-03-01T23:59:59&created_from=2026-03-01T23:59:59', ['o4']],
    ['updated_from=2026-03-31T21:00:00', ['o4']],
    ['updated_to=2026-01-31T21:00:00', ['tie_', 'tie-C', 'tie-a', 'tie-b']],
    ['created_from=0000-01-01T00:00:00&created_to=9999-12-31T23:59:59&status=cancelled', ['o3']],
  ])('filtered by %s', async (query, expected) => {
    const { count, results } = await service.api.list(`/api/order/list?${query}`, token);
    expect(results.map((record) => record['id'])).toEqual(expected);
    expect(count).toBe(expected.length);
  });

  it('are paged', async () => {
    const page = async (query: string) => {
      const { results, ...envelope } = await service.api.list(`/api/order/list?${query}`, token);
      return [envelope, results.map((record) => record['id'])];
    };
    expect(await page('page=3&page_size=3')).toEqual([
      { count: 8, page: 3, page_size: 3 },
      ['tie-a', 'tie-b'],
    ]);
    expect(await page('page_size=101')).toMatchObject([
      { count: 8, page: 1, page_size: 100 },
      { length: 8 },
    ]);
    const far = Number.MAX_SAFE_INTEGER;
    expect(await page(`page=${far}&page_size=${far}`)).toEqual([
      { count: 8, page: far, page_size: 100 },
      [],
    ]);
  });
});

describe('customers’ orders', () => {
  it('are the orders that name a customer, even without a record', async () => {
    expect(await ids('/api/customer/order-list/')).toEqual(['o2', 'o1']);
    expect(await ids('/api/customer/order-list/?customer_id=nobody')).toEqual(['o2']);
  });
});

// Folding removes accents but not the stroke of ł; characters beyond the BMP sort after full-width
// letters.
const ALL_BY_NAME = words('c8 c1 c2 c3 c4 c5 c7 c6');

describe('customers', () => {
  it.each([
    ['alvaro', ['c1']],
    ['a\u0301lv', ['c1']],
    ['ana%20maria', ['c2', 'c3']],
    ['  ana  ', ['c2', 'c3']],
    ['zoe', ['c4']],
    ['łukasz', ['c5']],
    ['🍕', ['c6']],
    ['ｚ', ['c7']],
    ['.*', ['c8']],
    ['\\', []],
    ['\0', []],
    ['789.09', ['c1']],
    ['789-09', ['c1']],
    ['11 98765', ['c1']],
    ['+55/1', ['c1']],
    ['\u{202A}789-09\u{202C}', ['c1']],
    ['789\u{2011}09', ['c1']],
    ['\u{2068}11 98765\u{2069}', ['c1']],
    ['\u{202A}', []],
    ['12.abc', ['c2']],
    ['ABC345', ['c2']],
    ['abc', []],
    ['-', []],
    ['c1', []],
    ['maria c', []],
    ['\u0301', ALL_BY_NAME],
  ])('found by %j', async (search, expected) => {
    const query = search.includes('%20') ? search : encodeURIComponent(search);
    const { count, results } = await service.api.list(`/api/customer/list?search=${query}`, token);
    const found = results.map((record) => record['id']);
    expect(found).toEqual(expected);
    expect(count).toBe(found.length);
  });
});
