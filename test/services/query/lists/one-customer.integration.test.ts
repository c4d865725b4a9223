/** The orders of one customer who has very many, such as the "walk-in" of a till. */
import { beforeAll, expect, it } from 'vitest';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { useQueryService } from '#test/hooks.ts';
import { profiled } from '#test/profiled.ts';

const ORDERS = 600;
const PAGE = 20;

const service = useQueryService();
let token: string;

beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'full' });
  await service.apply(
    Array.from({ length: ORDERS }, (_, index) => ({
      entity: 'order' as const,
      storeId: 's1',
      id: `o${index}`,
      data: {
        status: 'delivered',
        order_type: 'takeout',
        total: '1.00',
        customer: { id: 'walk-in' },
        created_at: new Date(Date.UTC(2026, 2, 1) + index * 1_000).toISOString(),
      },
    })),
  );
});

it.each([1, 2, ORDERS / PAGE])(
  'are counted and skipped without being read: page %i',
  async (page) => {
    const path = `/api/customer/order-list/?customer_id=walk-in&page=${page}&page_size=${PAGE}`;
    const reads = await profiled(service.installation, [COLLECTIONS.order], async () => {
      const { count, results } = await service.api.list(path, token);
      expect([count, results.length]).toEqual([ORDERS, PAGE]);
    });
    const documents = reads.reduce((sum, { docsExamined }) => sum + Number(docsExamined), 0);
    // The first page is tried with one record more before all are counted.
    expect(documents).toBeLessThanOrEqual(2 * PAGE + 5);
  },
);
