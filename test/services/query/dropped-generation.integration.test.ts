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
let token: string;

beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'full' });
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
  const ask = (path: string, headers = {}) => service.api.get(path, token, headers);
  const lists = PATHS.filter((path) => path.includes('/list'));
  const before = new Map<string, Answer>();
  for (const path of PATHS) before.set(path, await ask(path));
  const dropping = dropDatabaseOf({ db: databases.generation(environment, 1) });
  const answers: [string, Answer][] = [];
  // Until the pointer is polled half a second later, and after that.
  for (const end = performance.now() + 1_000; performance.now() < end;) {
    const round = await Promise.all([
      ...PATHS.map(async (path): Promise<[string, Answer]> => [path, await ask(path)]),
      ...lists.map(async (path): Promise<[string, Answer]> => [
        `${path} with its tag`,
        await ask(path, { 'if-none-match': before.get(path)?.headers.get('etag') ?? '' }),
      ]),
    ]);
    answers.push(...round);
  }
  await dropping;
  // Until it has begun, answers are as before.
  const isAsBefore = (path: string, { status, text }: Answer) =>
    status === 304 || (status === 200 && text === before.get(path)?.text);
  const wrong = answers
    .filter(
      ([path, answer]) => answer.status !== 503 && !isAsBefore(path.split(' ')[0] ?? '', answer),
    )
    .map(([path, { status, text }]) => [path, status, text]);
  expect(wrong).toEqual([]);
});
