/**
 * A generation is dropped under a service that has not polled the pointer since, as one that was
 * frozen.
 */
import { beforeAll, expect, it } from 'vitest';
import { dropDatabaseOf } from '#shared/read-models/generation.ts';
import { aCategory, anOrder, aStore } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import type { Answer } from '#test/api-client.ts';
import { words } from '#test/words.ts';

const service = useQueryService();

beforeAll(async () => {
  await service.tokenFor('s1');
  await service.apply([aStore(), anOrder('o1'), aCategory('k1')]);
  await service.stopProjector();
});

const PATHS = words(
  '/api/order/list /api/order/list?status=pending&page=3 /api/order/details/?order_id=o1',
  '/api/customer/list?search=silva /api/customer/order-list/?customer_id=c1 /api/product/list',
  '/api/category/list /api/menu/ /api/store/info/ /api/order/changes /api/changes',
);

it('answers 503, never an empty list, a 404 or an empty menu', async () => {
  const { databases, environment } = service.installation;
  const before = new Map<string, Answer>();
  for (const path of PATHS) before.set(path, await service.get(path));
  const dropping = dropDatabaseOf({ db: databases.generation(environment, 1) });
  const answers: [string, Answer][] = [];
  // Until the pointer is polled half a second later, and after that.
  for (const end = performance.now() + 1_000; performance.now() < end;) {
    const round = [...before].flatMap(([path, { headers }]) =>
      [{}, { 'if-none-match': headers.get('etag') ?? '' }].map(
        async (condition): Promise<[string, Answer]> => [
          path,
          await service.get(path, 's1', condition),
        ],
      ),
    );
    answers.push(...(await Promise.all(round)));
  }
  await dropping;
  // Until it has begun, answers are as before.
  const wrong = answers.filter(
    ([path, { status, text }]) =>
      ![304, 503].includes(status) && (status !== 200 || text !== before.get(path)?.text),
  );
  expect(wrong.map(([path, { status, text }]) => [path, status, text])).toEqual([]);
});
