/** The change feeds: of one or several kinds, of summaries or details. */
import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { exampleEvent } from '#shared/events/describe-fields.ts';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { useQueryService } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import type { Answer } from '#test/api-client.ts';
import type { Changes } from '#test/follower.ts';
import { type TestChange } from '#test/query-service.ts';
import { words } from '#test/words.ts';

type Change = Changes['results'][number];
const KINDS = words('store order customer review campaign coupon category product option-group');
const AT = { created_at: '2026-03-01T12:00:00.500Z', updated_at: '2026-03-02T12:00:00Z' };
const service = useQueryService({ environments: 2 });

let stores = 0;
/** Creates a store and a token for it. */
async function newStore(scopes = ['store', 'crm', 'order', 'menu']) {
  stores += 1;
  const storeId = `k${stores}`;
  return { storeId, token: await service.tokenOf({ clientId: storeId, storeId, scopes }) };
}

const nameOf = (entity: string) => entity.replace('_', '-');
const idOf = (storeId: string, entity: EntityName, number = 1) =>
  entity === 'store' ? storeId : `${entity}${number}`;
const change = (
  storeId: string,
  entity: EntityName,
  number = 1,
  more: object = {},
): TestChange => ({
  entity,
  storeId,
  id: idOf(storeId, entity, number),
  data: { ...exampleEvent(entity).data, ...AT, ...more },
});
const deletion = (storeId: string, entity: EntityName, number = 1): TestChange => ({
  entity,
  storeId,
  id: idOf(storeId, entity, number),
});

async function page(path: string, token: string): Promise<Changes> {
  const answer = await service.api.get(path, token);
  expect(answer.status, `${path}: ${answer.text}`).toBe(200);
  expect(Object.keys(answer.json as object)).toEqual([
    'results',
    'timezone_offset',
    'next',
    'more',
  ]);
  const found = answer.json as Changes;
  expect(found.next).toMatch(/^[A-Za-z0-9_-]{1,200}$/);
  if (found.results.length === 0) expect(found.more).toBe(false);
  for (const entry of found.results)
    expect(Object.keys(entry)).toEqual(['kind', 'id', 'deleted', 'record']);
  for (const { deleted, record } of found.results) expect(record === null).toBe(deleted);
  const names = found.results.map(({ kind, id }) => `${kind}/${id}`);
  expect(new Set(names).size).toBe(names.length);
  return found;
}

async function walk(path: string, token: string, after: string | null = null) {
  const told: Change[] = [];
  const sizes: number[] = [];
  for (let next = after; ;) {
    const mark = path.includes('?') ? '&' : '?';
    const {
      results,
      next: last,
      more,
    } = await page(next === null ? path : `${path}${mark}after=${next}`, token);
    told.push(...results);
    sizes.push(results.length);
    next = last;
    if (!more) return { told, sizes, next };
  }
}

const shortOf = (told: readonly Change[]) =>
  told.map(({ kind, id, deleted }) => `${deleted ? '-' : ''}${kind}/${id}`);
const codeOf = ({ status, json }: Answer) => [status, (json as { code: string }).code];
const detailOf = ({ json }: Answer) => (json as { detail: string }).detail;

describe('the entries of an answer', () => {
  it('are in the order of the last change over all kinds, each record once, at any page size', async () => {
    const { storeId, token } = await newStore();
    const lasts = new Map<string, boolean>();
    // Kinds are uneven, in runs; records change again and are deleted.
    for (let round = 0; round < 5; round += 1) {
      const changes: TestChange[] = [];
      for (const entity of ENTITY_NAMES) {
        const some = entity === 'store' ? 1 : randomInt(1, entity === 'order' ? 25 : 5);
        for (let count = 0; count < some; count += 1) {
          const number = randomInt(30);
          changes.push(
            randomInt(5) === 0 && entity !== 'store'
              ? deletion(storeId, entity, number)
              : change(storeId, entity, number, entity === 'order' ? { customer: null } : {}),
          );
        }
      }
      for (const { entity, id, data } of changes) {
        const name = `${nameOf(entity)}/${id}`;
        lasts.delete(name);
        lasts.set(name, data !== undefined);
      }
      await service.apply(changes);
    }
    const expected = [...lasts].flatMap(([name, isThere]) => (isThere ? [name] : []));
    for (const size of [1, 7, 20, 1_000]) {
      const { told, sizes } = await walk(`/api/changes?page_size=${size}`, token);
      expect(shortOf(told), `pages of ${size}`).toEqual(expected);
      // Every page except the last is full.
      expect(new Set(sizes.slice(0, -1))).toEqual(new Set(expected.length > size ? [size] : []));
    }
    const some = ['product', 'customer', 'option-group'];
    const { told } = await walk(
      `/api/changes?page_size=7&${some.map((kind) => `kinds=${kind}`).join('&')}`,
      token,
    );
    expect(shortOf(told)).toEqual(
      expected.filter((name) => some.includes(name.split('/')[0] ?? '')),
    );
    for (const kind of KINDS) {
      const own = await walk(`/api/${kind}/changes?page_size=7`, token);
      expect(shortOf(own.told)).toEqual(expected.filter((name) => name.startsWith(`${kind}/`)));
    }
  });
});

describe('whole records', () => {
  it('are answered on each kind’s own path; without the parameter summaries are', async () => {
    const { storeId, token } = await newStore();
    await service.apply(ENTITY_NAMES.map((entity) => change(storeId, entity)));
    await service.apply([
      change(storeId, 'product', 1, { option_group_ids: ['gone', 'option_group1', 'gone'] }),
    ]);
    const whole = await page('/api/changes?records=whole', token);
    const product = whole.results.find(({ kind }) => kind === 'product');
    expect(product?.record?.['option_group_ids']).toEqual(['gone', 'option_group1']);
    const summaries = await page('/api/changes', token);
    expect(await page('/api/changes?records=summary', token)).toEqual(summaries);
    for (const kind of KINDS) {
      const of = ({ results }: Changes) => results.filter((entry) => entry.kind === kind);
      expect((await page(`/api/${kind}/changes?records=whole`, token)).results).toEqual(of(whole));
      expect((await page(`/api/${kind}/changes`, token)).results).toEqual(of(summaries));
      if (kind === 'store') continue;
      const { results: listed } = await service.api.list(`/api/${kind}/list`, token);
      expect(of(summaries).map(({ record }) => record)).toEqual(listed);
    }
  });
});

describe('kinds', () => {
  it('repeated, reordered or all named are the same feed', async () => {
    const { storeId, token } = await newStore();
    await service.apply(ENTITY_NAMES.map((entity) => change(storeId, entity)));
    const { results, next } = await page(
      '/api/changes?kinds=product&kinds=order&kinds=order',
      token,
    );
    expect(shortOf(results)).toEqual(['order/order1', 'product/product1']);
    expect(
      (await page(`/api/changes?kinds=order&kinds=product&after=${next}`, token)).results,
    ).toEqual([]);
    const all = KINDS.toReversed()
      .map((kind) => `kinds=${kind}`)
      .join('&');
    const named = await page(`/api/changes?${all}`, token);
    expect((await page('/api/changes', token)).results).toEqual(named.results);
    expect((await page(`/api/changes?after=${named.next}`, token)).results).toEqual([]);
  });

  it('need all of their scopes, and are validated before scopes', async () => {
    const { token } = await newStore(['order', 'menu']);
    const asked = async (query: string) => service.api.get(`/api/changes${query}`, token);
    const forbidden = async (query: string, scope: string, missing: string) => {
      const answer = await asked(query);
      expect(codeOf(answer), query).toEqual([403, 'insufficient_scope']);
      expect(answer.headers.get('www-authenticate')).toContain(`scope="${scope}"`);
      const named = words('store crm order menu').filter((name) =>
        new RegExp(`\\b${name}\\b`).test(detailOf(answer)),
      );
      expect(named.join(' ')).toBe(missing);
    };
    const invalid = async (query: string, detail: RegExp) => {
      const answer = await asked(query);
      expect([query, ...codeOf(answer)]).toEqual([query, 422, 'invalid_parameters']);
      expect(detailOf(answer)).toMatch(detail);
    };
    await forbidden('', 'store crm order menu', 'store crm');
    await forbidden('?kinds=product&kinds=customer&kinds=review', 'crm menu', 'crm');
    await forbidden('?kinds=option-group&kinds=coupon&kinds=store', 'store menu', 'store');
    for (const wrong of words('nonsense=1 page_size=0 after=x records=x %ff=1 records=%ff')) {
      await forbidden(`?kinds=customer&${wrong}`, 'crm', 'crm');
      await forbidden(`?${wrong}&kinds=customer`, 'crm', 'crm');
      await invalid(`?kinds=order&${wrong}`, /./);
    }
    for (const wrong of [...words('orders option_group order,product %ff Order order%00'), '']) {
      await invalid(`?kinds=customer&kinds=${wrong}`, /\bkinds\b/);
      await invalid(`?nonsense=1&kinds=${wrong}`, /\bkinds\b/);
    }
    expect((await asked('?kinds=order&kinds=product')).status).toBe(200);
    expect((await asked('?%6binds=order')).status).toBe(200);
  });
});

describe('a cursor', () => {
  it('is valid only for its path, kinds, records, store and environment', async () => {
    const { storeId, token } = await newStore();
    const other = await newStore();
    await service.apply([change(storeId, 'order'), change(other.storeId, 'order')]);
    const environment = service.installation.config.environments[1] ?? '';
    const elsewhere = await service.tokenOf({ clientId: `${storeId}-else`, storeId, environment });
    const paths = words(
      '/api/order/changes? /api/order/changes?records=whole& /api/product/changes?',
      '/api/changes? /api/changes?records=whole& /api/changes?kinds=order&',
      '/api/changes?kinds=order&kinds=product&',
    );
    for (const from of paths) {
      const { next } = await page(from.slice(0, -1), token);
      for (const to of paths) {
        const { status } = await service.api.get(`${to}after=${next}`, token);
        expect([from, to, status]).toEqual([from, to, from === to ? 200 : 422]);
      }
      for (const bearer of [other.token, elsewhere]) {
        expect((await service.api.get(`${from}after=${next}`, bearer)).status, from).toBe(422);
      }
      const malformed = [next.slice(1), `${next}A`, 'A'.repeat(200), 'A'.repeat(201)];
      const wrong = [...words('x %22 a.b a='), '', ...malformed];
      for (const text of wrong) {
        const answer = await service.api.get(`${from}after=${text}`, token);
        expect([text, ...codeOf(answer)]).toEqual([text, 422, 'invalid_parameters']);
        expect(detailOf(answer)).toMatch(/^after /);
      }
    }
  });

  it('with any changed bit never yields data of another store', async () => {
    const one = await newStore();
    const other = await newStore();
    await service.apply([
      change(one.storeId, 'order'),
      change(other.storeId, 'order', 1, { notes: 'secret' }),
    ]);
    const { next } = await page('/api/changes?records=whole', one.token);
    const bytes = Buffer.from(next, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const path = `/api/changes?records=whole&after=${changed.toString('base64url')}`;
      const answer = await service.api.get(path, one.token);
      expect([200, 422]).toContain(answer.status);
      expect(answer.text).not.toContain('secret');
    }
  });
});

describe('after=now', () => {
  it('answers no changes, and continues with later ones, including deletions', async () => {
    const { storeId, token } = await newStore();
    await service.apply([
      change(storeId, 'order', 1),
      change(storeId, 'order', 2),
      change(storeId, 'product'),
    ]);
    for (const path of ['/api/changes?records=whole', '/api/order/changes?page_size=1']) {
      const now = await page(`${path}&after=now`, token);
      expect(now).toMatchObject({ results: [], more: false });
      await service.apply([deletion(storeId, 'order', 2), change(storeId, 'order', 3)]);
      const { told } = await walk(path, token, now.next);
      expect(shortOf(told)).toEqual(['-order/order2', 'order/order3']);
      await service.apply([change(storeId, 'order', 2), deletion(storeId, 'order', 3)]);
    }
    const { status } = await service.api.get('/api/order/changes?after=now&after=now', token);
    expect(status).toBe(422);
  });

  it.each(['?after=now', ''])(
    '%j of a store without data answers no changes, and then new ones',
    async (query) => {
      const { storeId, token } = await newStore();
      const { results, next } = await page(`/api/changes${query}`, token);
      expect(results).toEqual([]);
      await service.apply([
        change(storeId, 'order', 1),
        change(storeId, 'order', 2),
        deletion(storeId, 'order', 1),
      ]);
      const { told } = await walk('/api/changes', token, next);
      expect(shortOf(told)).toEqual(['order/order2', '-order/order1']);
    },
  );
});

describe('a change', () => {
  it('of the offset is only a change of the store', async () => {
    const { storeId, token } = await newStore();
    await service.apply([change(storeId, 'store'), change(storeId, 'order')]);
    const { next } = await page('/api/changes', token);
    await service.apply([change(storeId, 'store', 1, { timezone_offset: '+05:30' })]);
    const moved = await page(`/api/changes?after=${next}`, token);
    expect((await page('/api/order/changes', token)).timezone_offset).toBe('+05:30');
    expect(moved).toMatchObject({
      results: [{ kind: 'store', id: storeId, record: { timezone_offset: '+05:30' } }],
      timezone_offset: '+05:30',
    });
    const { results } = await page('/api/order/changes?records=whole', token);
    expect(results[0]?.record).toMatchObject({
      created_at: '2026-03-01T17:30:00',
      delivery: { estimated_at: '2026-11-21T03:35:00' },
      status_history: [
        { at: '2026-11-21T02:45:04' },
        { at: '2026-11-21T02:46:20' },
        { at: '2026-11-21T02:48:02' },
        { at: '2026-11-21T03:22:40' },
      ],
    });
  });

  it('that deletes a store is in the feed, and its other records stay', async () => {
    const { storeId, token } = await newStore();
    await service.apply([
      change(storeId, 'store', 1, { timezone_offset: '+01:00' }),
      change(storeId, 'order'),
    ]);
    const all = await page('/api/changes', token);
    const own = await page('/api/store/changes', token);
    await service.apply([deletion(storeId, 'store')]);
    for (const path of [`/api/changes?after=${all.next}`, `/api/store/changes?after=${own.next}`]) {
      expect(await page(path, token)).toMatchObject({
        results: [{ kind: 'store', id: storeId, deleted: true, record: null }],
        timezone_offset: '-03:00',
      });
    }
    expect(await page('/api/changes', token)).toMatchObject({
      results: [{ id: 'order1', record: { created_at: '2026-03-01T09:00:00' } }],
    });
    await service.apply([change(storeId, 'store')]);
    expect(shortOf((await page(`/api/store/changes?after=${own.next}`, token)).results)).toEqual([
      `store/${storeId}`,
    ]);
  });
});

describe('a page', () => {
  it('has up to 1,000 changes, even after long runs of other kinds', async () => {
    const { storeId, token } = await newStore();
    await service.apply([change(storeId, 'category', 1), change(storeId, 'product', 1)]);
    for (let first = 0; first < 1_001; first += 143) {
      await service.apply(times(143, (index) => change(storeId, 'review', first + index)));
    }
    await service.apply([change(storeId, 'category', 2), change(storeId, 'product', 2)]);
    for (const [path, more] of [
      ['/api/review/changes?', 0],
      ['/api/changes?records=whole&', 4],
    ] as const) {
      for (const size of ['1000', '1001', '9007199254740991']) {
        expect((await walk(`${path}page_size=${size}`, token)).sizes).toEqual([1_000, 1 + more]);
      }
      expect((await walk(`${path}page_size=999`, token)).sizes).toEqual([999, 2 + more]);
      expect((await page(path.slice(0, -1), token)).results.length).toBe(20);
    }
    const { told, sizes } = await walk(
      '/api/changes?kinds=category&kinds=product&page_size=3',
      token,
    );
    expect(shortOf(told)).toEqual([
      'category/category1',
      'product/product1',
      'category/category2',
      'product/product2',
    ]);
    expect(sizes).toEqual([3, 1]);
  });

  it('ends with the record that exceeds 4 MiB, and has at least one, even if all are more than 16 MiB', async () => {
    const { storeId, token } = await newStore();
    const small = times(30, (index) => change(storeId, 'review', index));
    await service.apply(small);
    // 50 addresses of 4,500 emoji are 900 KB.
    const addresses = times(50, () => ({ reference: '😀'.repeat(4_500) }));
    const large = (number: number) => change(storeId, 'customer', number, { addresses });
    for (let first = 0; first < 20; first += 5) {
      await service.apply(times(5, (index) => large(first + index)));
    }
    await service.apply(small.map(({ id, ...rest }) => ({ ...rest, id: `${id}-2` })));
    for (const [path, expected] of [
      ['/api/changes?page_size=1000', [35, 5, 5, 5, 30]],
      ['/api/changes?page_size=1000&kinds=customer', [5, 5, 5, 5]],
      ['/api/customer/changes?page_size=100', [5, 5, 5, 5]],
      ['/api/customer/changes?page_size=3', [3, 3, 3, 3, 3, 3, 2]],
    ] as const) {
      const { told, sizes } = await walk(path, token);
      expect(sizes, path).toEqual(expected);
      expect(new Set(shortOf(told)).size).toBe(told.length);
    }
  }, 120_000);
});
