/** Pages by rank: neither cached nor missing nodes make an answer wrong, and a page costs one or two round trips. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS, RANK_NODES, STAMPS } from '#shared/read-models/collections.ts';
import type { RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import { anOrder, gone } from '#test/changes.ts';
import type { TestChange } from '#test/events.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { profiled } from '#test/profiled.ts';
import { type ListQuery, Model } from '#test/model.ts';
import { answerTo, type Question, target } from '#test/questions.ts';
import { withSmallTrees } from '#test/small-trees.ts';

const MANY = 1_200;

afterAll(withSmallTrees(8, 3));
const service = useQueryService();
const model = new Model();
let sequence = 0;
beforeAll(() => apply(numbers(0, MANY).map((at) => order('many', at))));

async function apply(changes: TestChange[]) {
  await service.apply(changes);
  for (const { entity, storeId, id: subject, data } of changes) {
    sequence += 1;
    const action = data === undefined ? 'deleted' : 'changed';
    model.apply({ entity, storeId, subject, sequence, action, data });
  }
}

const numbers = (from: number, to: number, step = 1) =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => from + index * step);

/** The local creation time of an order; orders are a second apart. */
const localTime = (at: number) =>
  new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString().slice(0, 19);
function order(storeId: string, at: number) {
  const created_at = `${localTime(at)}-03:00`;
  const [status, order_type] = [
    at % 2 === 0 ? 'pending' : 'ready',
    at % 3 === 0 ? 'delivery' : 'takeout',
  ];
  return anOrder(`o${at}`, { created_at, updated_at: created_at, status, order_type }, storeId);
}

const questionTo = (storeId: string, query: ListQuery): Question => ({
  path: '/api/order/list',
  storeId,
  query: { page_size: 3, ...query },
});
const ask = (question: Question) => service.list(target(question), question.storeId);
const within = (from: number, to: number) => ({
  created_from: localTime(from),
  created_to: localTime(to),
});
const FACETS = { status: ['ready'], order_type: ['takeout'] };

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
      await apply([
        ...stored.filter((at) => !next.includes(at)).map((at) => gone(order('changing', at))),
        ...next.filter((at) => !stored.includes(at)).map((at) => order('changing', at)),
      ]);
      stored = next;
      for (const range of [
        {},
        within(2_001, 2_370),
        { created_from: localTime(2_100) },
        { created_to: localTime(2_333) },
      ]) {
        for (const facets of [{}, FACETS, { status: ['cancelled'] }]) {
          for (const page of [1, 2, 9, 23, 60, 1_000]) {
            const question = questionTo('changing', { ...range, ...facets, page });
            expect(await ask(question), target(question)).toEqual(answerTo(question, model));
          }
        }
      }
    }
  });

  it('takes one round trip with a cached tree, two for later pages of a range', async () => {
    const collections = [COLLECTIONS.order, RANK_NODES, STAMPS];
    for (const [query, trips] of [
      [{ page: 200 }, 1],
      [{ ...FACETS, page: 40 }, 1],
      [{ ...FACETS, ...within(101, 902), page: 40 }, 2],
    ] as const) {
      const page = () => ask(questionTo('many', query));
      await page();
      const reads = await profiled(service.installation, collections, page);
      expect([query, reads.length]).toEqual([query, trips]);
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
    const question = questionTo('many', { ...within(102, 903), page: 100 });
    expect(await ask(question)).toEqual(answerTo(question, model));
  });
});
