import { beforeAll, expect, it } from 'vitest';
import type { EntityName } from '#shared/events/entities.ts';
import { anOrder, aStore, MINIMAL } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { type TestChange } from '#test/query-service.ts';
import { words } from '#test/words.ts';

const PATHS = words(
  '/api/store/info/ /api/coupon/list /api/coupon/details/?coupon_id=n1 /api/customer/list',
  '/api/review/list /api/review/details/?review_id=r1 /api/campaign/list',
  '/api/campaign/details/?campaign_id=m1 /api/order/list?page_size=100',
  '/api/order/details/?order_id=o7 /api/customer/order-list/?customer_id=c1 /api/menu/',
  '/api/category/list /api/category/details/?category_id=k1 /api/product/list',
  '/api/product/details/?product_id=p1 /api/option-group/list',
);

const at = (second: number) => new Date(Date.UTC(2026, 2, 1, 2, 0, second)).toISOString();
const times = { created_at: at(0), updated_at: at(30) };

const service = useQueryService();
let token: string;
beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'reader' });
  await service.apply([store('-03:00'), ...everything()]);
});

const store = (timezone_offset: string) =>
  aStore('s1', { name: 'Bela', timezone_offset, ...times });

/** A record of each kind, and a hundred orders. */
function everything(): TestChange[] {
  const details: Partial<Record<EntityName, [id: string, data: object]>> = {
    coupon: ['n1', { starts_at: at(1), ...times }],
    customer: ['c1', { name: 'Maria "scheduled_for":"2026-03-01T02:00:00"', ...times }],
    review: ['r1', { comment: '2026-03-01T02:00:00', replied_at: at(2), created_at: at(1) }],
    campaign: ['m1', times],
    option_group: ['g1', { options: [{ id: 'a', name: 'Catupiry', price: '5.00' }] }],
    category: ['k1', times],
    product: ['p1', { category_id: 'k1', option_group_ids: ['g1'], ...times }],
  };
  const one = (entity: EntityName, id: string, data: object): TestChange => ({
    entity,
    storeId: 's1',
    id,
    data: { ...MINIMAL[entity], ...data },
    time: at(40),
  });
  return [
    ...Object.entries(details).map(([entity, [id, data]]) => one(entity as EntityName, id, data)),
    ...Array.from({ length: 100 }, (_, index) =>
      one('order', `o${index}`, {
        status: 'ready',
        customer: { id: 'c1', name: 'Maria' },
        scheduled_for: at(index),
        status_history: [{ status: 'ready', at: at(index) }],
        created_at: at(index),
      }),
    ),
  ];
}

async function ask(path: string, headers: Record<string, string> = {}) {
  const { status, text, headers: answered } = await service.api.get(path, token, headers);
  return { status, text, etag: answered.get('etag') ?? '' };
}

it('shifts all answers at the next request, and equals answers from records after the move', async () => {
  const before = /_at":"2026-02-28T23:/;
  // List entries of categories and option groups have no date-times.
  const dated = PATHS.filter((path) => !/category\/list|option-group|store/.test(path));
  for (const path of dated) expect((await ask(path)).text, path).toMatch(before);
  await service.apply([store('+05:30')]);
  const first = JSON.parse((await ask('/api/order/details/?order_id=o7')).text) as Record<
    string,
    unknown
  >;
  expect(first).toMatchObject({
    created_at: '2026-03-01T07:30:07',
    scheduled_for: '2026-03-01T07:30:07',
    status_history: [{ status: 'ready', at: '2026-03-01T07:30:07' }],
  });
  const shifted = new Map<string, Awaited<ReturnType<typeof ask>>>();
  for (const path of PATHS) {
    const answer = await ask(path);
    expect(answer.status, path).toBe(200);
    expect(answer.text, path).not.toMatch(before);
    shifted.set(path, answer);
    const poll = await ask(path, { 'if-none-match': answer.etag });
    expect(poll, path).toMatchObject({ status: 304, etag: answer.etag });
  }

  // The same records again, with bodies in the new offset.
  await service.apply(everything());
  for (const path of PATHS) expect((await ask(path)).text, path).toBe(shifted.get(path)?.text);
});

it('shows exact instants again, which local time could not show in another offset', async () => {
  const instants = [
    '9999-12-31T22:30:00Z',
    '9999-12-31T23:59:59-12:00',
    '0000-01-01T00:30:00+14:00',
  ];
  const order = (id: string, at: string) =>
    anOrder(id, {
      scheduled_for: at,
      status_history: [{ status: 'ready', at }],
      created_at: times.created_at,
    });
  const shown = async () => {
    const answers = await Promise.all(
      instants.map((_, index) => ask(`/api/order/details/?order_id=edge${index}`)),
    );
    return answers.map(({ text }) => {
      const { scheduled_for, status_history } = JSON.parse(text) as Record<string, unknown>;
      expect(status_history).toEqual([{ status: 'ready', at: scheduled_for }]);
      return scheduled_for;
    });
  };
  // They arrive while the store's offset puts them outside of the representable years.
  await service.apply([store('+03:00'), ...instants.map((at, index) => order(`edge${index}`, at))]);
  expect(await shown()).toEqual([
    '9999-12-31T23:59:59',
    '9999-12-31T23:59:59',
    '0000-01-01T00:00:00',
  ]);
  for (const [offset, told] of [
    ['-03:00', ['9999-12-31T19:30:00', '9999-12-31T23:59:59', '0000-01-01T00:00:00']],
    ['-13:00', ['9999-12-31T09:30:00', '9999-12-31T22:59:59', '0000-01-01T00:00:00']],
    ['+14:00', ['9999-12-31T23:59:59', '9999-12-31T23:59:59', '0000-01-01T00:30:00']],
    ['-03:00', ['9999-12-31T19:30:00', '9999-12-31T23:59:59', '0000-01-01T00:00:00']],
  ] as const) {
    await service.apply([store(offset)]);
    expect(await shown(), offset).toEqual(told);
  }
});
