import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type QueryService, startQueryService } from '#test/query-service.ts';

const STORES = ['s1', 's2'];
const ORDERS = 40;

let service: QueryService;
const tokens = new Map<string, string>();

const totalOf = (storeId: string, index: number) => `${index + (storeId === 's1' ? 100 : 200)}.00`;

beforeAll(async () => {
  service = await startQueryService();
  for (const storeId of STORES) {
    await service.setKey({ clientId: `key-${storeId}`, storeId });
    tokens.set(storeId, await service.api.token(`key-${storeId}`, 'secret'));
  }
  await service.apply(
    STORES.flatMap((storeId) => [
      {
        entity: 'store' as const,
        storeId,
        id: storeId,
        data: {
          name: storeId,
          timezone_offset: storeId === 's1' ? '-03:00' : '-05:00',
          created_at: '2026-01-01T00:00:00Z',
        },
      },
      ...Array.from({ length: ORDERS }, (_, index) => ({
        entity: 'order' as const,
        storeId,
        id: `o${index}`,
        data: {
          status: 'pending',
          order_type: 'delivery',
          total: totalOf(storeId, index),
          created_at: '2026-03-01T12:00:00Z',
        },
      })),
    ]),
  );
});
afterAll(() => service?.close());

const details = (storeId: string, id: string, headers?: Record<string, string>) =>
  service.api.get(`/api/order/details/?order_id=${id}`, tokens.get(storeId) ?? '', headers);

describe('requests that come at the same moment', () => {
  it('are each given their own store’s record in its offset, and 404 where there is none', async () => {
    const asked = Array.from({ length: 200 }, (_, index) => ({
      storeId: STORES[index % 2] ?? '',
      index: Math.floor(index / 2) % (ORDERS + 5),
    }));
    const answers = await Promise.all(
      asked.map(async ({ storeId, index }) => {
        const answer = await details(storeId, `o${index}`);
        const body = answer.json as { id?: string; total?: string; created_at?: string };
        return { status: answer.status, id: body.id, total: body.total, at: body.created_at };
      }),
    );
    expect(answers).toEqual(
      asked.map(({ storeId, index }) =>
        index < ORDERS
          ? {
              status: 200,
              id: `o${index}`,
              total: totalOf(storeId, index),
              at: storeId === 's1' ? '2026-03-01T09:00:00' : '2026-03-01T07:00:00',
            }
          : { status: 404, id: undefined, total: undefined, at: undefined },
      ),
    );
  });

  it('are each told of their own entity tag that it still holds', async () => {
    const tags = new Map<string, string>();
    for (const storeId of STORES) {
      tags.set(storeId, (await details(storeId, 'o1')).headers.get('etag') ?? '');
    }
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const storeId = STORES[index % 2] ?? '';
        const other = STORES[(index + 1) % 2] ?? '';
        const tag = tags.get(index % 3 === 0 ? other : storeId) ?? '';
        return (await details(storeId, 'o1', { 'if-none-match': tag })).status;
      }),
    );
    expect(statuses).toEqual(Array.from({ length: 60 }, (_, index) => (index % 3 === 0 ? 200 : 304)));
  });
});
