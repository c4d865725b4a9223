/** Pages by rank: neither cached nor missing nodes make an answer wrong, and a page costs one or two round trips. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS, RANK_NODES, STAMPS } from '#shared/read-models/collections.ts';
import type { RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import { anOrder, gone } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { profiled } from '#test/profiled.ts';
import { target } from '#test/questions.ts';
import { withSmallTrees } from '#test/small-trees.ts';

const PAGE_SIZE = 3;
const MANY = 1_200;

afterAll(withSmallTrees(8, 3));
const service = useQueryService();
beforeAll(async () => {
  await service.apply(numbers(0, MANY).map((at) => order('many', at)));
});

const numbers = (from: number, to: number, step = 1) =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => from + index * step);

const statusOf = (at: number) => (at % 2 === 0 ? 'pending' : 'ready');
const typeOf = (at: number) => (at % 3 === 0 ? 'delivery' : 'takeout');
/** The local creation time of an order; orders are a second apart. */
const localTime = (at: number) =>
  new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString().slice(0, 19);
const order = (storeId: string, at: number) =>
  anOrder(
    `o${at}`,
    { created_at: `${localTime(at)}-03:00`, status: statusOf(at), order_type: typeOf(at) },
    storeId,
  );

interface Asked {
  page: number;
  from?: number;
  to?: number;
  status?: string;
  type?: string;
}

async function pageOf(storeId: string, { page, from, to, status, type }: Asked) {
  const { count, results } = await service.api.list(
    target({
      path: '/api/order/list',
      storeId,
      query: {
        page,
        page_size: PAGE_SIZE,
        ...(from !== undefined && { created_from: localTime(from) }),
        ...(to !== undefined && { created_to: localTime(to) }),
        ...(status !== undefined && { status: [status] }),
        ...(type !== undefined && { order_type: [type] }),
      },
    }),
    await service.tokenFor(storeId),
  );
  return { count, ids: results.map(({ id }) => id) };
}

function expected(
  stored: readonly number[],
  { page, from = 0, to = Infinity, status, type }: Asked,
) {
  const matching = stored
    .filter((at) => at >= from && at <= to)
    .filter((at) => [statusOf(at), undefined].includes(status))
    .filter((at) => [typeOf(at), undefined].includes(type))
    .toSorted((a, b) => b - a);
  const shown = matching.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  return { count: matching.length, ids: shown.map((at) => `o${at}`) };
}

describe('a page by rank', () => {
  it('is right after any reads and changes', { timeout: 240_000 }, async () => {
    let stored: number[] = [];
    // Each change gives nodes other boundaries than cached ones, and more or fewer levels.
    for (const next of [
      numbers(2_000, 2_400),
      numbers(1_990, 2_400),
      numbers(1_000, 2_400, 2),
      numbers(2_300, 2_395),
      numbers(2_100, 2_105),
      numbers(1_000, 2_200, 3),
    ]) {
      await service.apply([
        ...stored.filter((at) => !next.includes(at)).map((at) => gone(order('changing', at))),
        ...next.filter((at) => !stored.includes(at)).map((at) => order('changing', at)),
      ]);
      stored = next;
      for (const range of [{}, { from: 2_001, to: 2_370 }, { from: 2_100 }, { to: 2_333 }]) {
        for (const facets of [{}, { status: 'ready', type: 'takeout' }, { status: 'cancelled' }]) {
          for (const page of [1, 2, 9, 23, 60, 1_000]) {
            const asked = { ...range, ...facets, page };
            const shown = await pageOf('changing', asked);
            expect({ asked, ...shown }).toEqual({ asked, ...expected(next, asked) });
          }
        }
      }
    }
  });

  it('takes one round trip with a cached tree, two for later pages of a range', async () => {
    const facets = { status: 'ready', type: 'takeout' };
    for (const [asked, trips] of [
      [{ page: 200 }, 1],
      [{ ...facets, page: 40 }, 1],
      [{ ...facets, from: 101, to: 902, page: 40 }, 2],
    ] as const) {
      await pageOf('many', asked);
      const reads = await profiled(
        service.installation,
        [COLLECTIONS.order, RANK_NODES, STAMPS],
        () => pageOf('many', asked),
      );
      expect([asked, reads.length]).toEqual([asked, trips]);
    }
  });

  it('is right if nodes are missing', async () => {
    const { databases, environment } = service.installation;
    const nodes = databases.generation(environment, 1).collection<RankNode>(RANK_NODES);
    const { deletedCount } = await nodes.deleteMany({ _id: /^order\/many\/0\/./ });
    expect(deletedCount).toBeGreaterThan(10);
    await eventually('the snapshot has lost them too', async () => {
      const shown = await nodes.find({}, { readConcern: 'snapshot' }).toArray();
      return shown.length === (await nodes.countDocuments());
    });
    const asked = { from: 102, to: 903, page: 100 };
    expect(await pageOf('many', asked)).toEqual(expected(numbers(0, MANY), asked));
  });
});
