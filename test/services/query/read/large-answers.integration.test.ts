/** Answers of megabytes: the same as small ones, and other stores do not wait for them. */
import { beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS, ERASURES, STAMPS } from '#shared/read-models/collections.ts';
import { aCustomer, aGroup, anOrder, aProduct, MINIMAL } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useQueryService } from '#test/hooks.ts';
import { profiled } from '#test/profiled.ts';
import { readModels } from '#test/read-models.ts';

const GROUPS = 40;
const RECORDS = 100;
const LONG = '😀'.repeat(5_000);

const service = useQueryService();

beforeAll(async () => {
  // 60 KB each.
  const option = { name: 'x', price: '1.00', description: LONG };
  const options = times(3, (index) => ({ ...option, id: `o${index}` }));
  const groups = times(GROUPS, (index) =>
    aGroup(`g${index}`, { name: `G${index}`, options }, 'large'),
  );
  const option_group_ids = [...groups.map(({ id }) => id), 'gone'].slice(1);
  await service.apply(groups);
  const review = { ...MINIMAL.review, comment: LONG, customer_name: 'Ana' };
  await service.apply([
    ...times(RECORDS, (index) =>
      aProduct(`p${index}`, { position: index, option_group_ids }, 'large'),
    ),
    ...times(RECORDS, (index) => ({
      entity: 'review' as const,
      storeId: 'large',
      id: `r${index}`,
      data: { ...review, customer_id: `c${index % 2}` },
    })),
    aCustomer('c0', {}, 'large'),
    anOrder('o1', {}, 'small'),
  ]);
});

const get = (path: string, headers = {}) => service.get(path, 'large', headers);
const list = (path: string) => service.list(path, 'large');
const PRODUCT = '/api/product/details/?product_id=';

describe('a product with megabytes of option groups', () => {
  it('has all of them, in order, also for many connections beside another store', async () => {
    const { results: groups } = await list('/api/option-group/list?page_size=100');
    const byId = new Map(groups.map((group) => [group['id'], group]));
    const asked = times(16, (index) => get(`${PRODUCT}p${index}`));
    const beside = times(20, () => service.get('/api/order/details/?order_id=o1', 'small'));
    const answers = await Promise.all(asked);
    expect((await Promise.all(beside)).map(({ status }) => status)).toEqual(beside.map(() => 200));
    const expected = times(GROUPS - 1, (index) => byId.get(`g${index + 1}`));
    for (const [index, { json }] of answers.entries()) {
      expect(json).toMatchObject({ id: `p${index}`, created_at: null, option_groups: expected });
    }
  });

  it('has an entity tag and is compressed like any other', async () => {
    const { headers, text } = await get(`${PRODUCT}p1`);
    const etag = headers.get('etag') ?? '';
    expect(await get(`${PRODUCT}p1`, { 'if-none-match': etag })).toMatchObject({
      status: 304,
      text: '',
    });
    expect((await get(`${PRODUCT}p1`, { 'accept-encoding': 'identity' })).text).toBe(text);
    // More often than streams may be under way.
    for (let round = 0; round < 20; round += 1) {
      const head = await fetch(`${service.url}${PRODUCT}p1`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${await service.tokenFor('large')}` },
      });
      expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
      const known = await get(`${PRODUCT}p1`, { 'if-none-match': '*' });
      expect(known.status).toBe(304);
    }
  });

  it('is read for others after clients that left, before and during their answers', async () => {
    const headers = { authorization: `Bearer ${await service.tokenFor('large')}` };
    const leaving = new AbortController();
    const began = times(8, async (index) => {
      const answer = await fetch(`${service.url}${PRODUCT}p${index}`, {
        headers,
        signal: leaving.signal,
      });
      await answer.body?.getReader().read();
      leaving.abort();
    });
    expect(
      (await Promise.allSettled(began)).filter(({ status }) => status === 'rejected'),
    ).not.toEqual([]);
    for (const product of ['p1', 'p2', 'p3'])
      expect((await get(PRODUCT + product)).status).toBe(200);
  });

  it('is read with few of its groups at a time', async () => {
    const { installation } = service;
    const reads = await profiled(installation, [COLLECTIONS.option_group], () =>
      get(`${PRODUCT}p1`),
    );
    expect(reads.length).toBeGreaterThan(1);
    for (const { responseLength } of reads) expect(responseLength).toBeLessThan(2 * 1_048_576);
  });
});

describe('a page of megabytes', () => {
  it.each([
    ['option groups', '/api/option-group/list?', GROUPS],
    [
      'reviews by rating, created in a window',
      '/api/review/list?rating=5&created_to=2100-01-01T00:00:00&',
      RECORDS,
    ],
    ['products', '/api/product/list?', RECORDS],
  ])('shows the same %s as small pages', async (_what, path, count) => {
    const whole = `${path}page_size=100`;
    // The first request finds out that it is large, the second knows.
    for (let round = 0; round < 2; round += 1) {
      const answer = await list(whole);
      const pages = await Promise.all(
        [1, 2, 3, 4].map((page) => list(`${path}page_size=25&page=${page}`)),
      );
      const results = pages.flatMap((page) => page.results);
      expect(answer).toEqual({ count, page: 1, page_size: 100, results });
    }
  });

  it('shows no customer who is being erased', async () => {
    const db = await readModels(service.installation);
    const erasing = {
      _id: 'large/c1',
      store_id: 'large',
      position: Number.MAX_SAFE_INTEGER,
      began_at: new Date(),
    };
    await db.collection<typeof erasing>(ERASURES).insertOne(erasing);
    await db
      .collection<{ _id: string }>(STAMPS)
      .updateOne({ _id: 'large' }, { $set: { erasing: true } });
    for (let round = 0; round < 2; round += 1) {
      const { results } = await list('/api/review/list?page_size=100');
      const names = results.map(({ customer_id, customer_name }) => [customer_id, customer_name]);
      expect(names.filter(([id, name]) => name !== (id === 'c0' ? 'Ana' : null))).toEqual([]);
    }
  });
});
