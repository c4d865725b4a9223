/** The metrics of MongoDB connections under load and when idle. */
import { beforeAll, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { sumOf } from '#test/query-service.ts';

const service = useQueryService();

beforeAll(async () => {
  await service.setKey({ clientId: 'reader' });
});

const now = (what: string) => sumOf([service], `store_data_mongodb_connections_${what}`);

it('counts connections in use and waiting operations, and returns to 0', async () => {
  const token = await service.api.token('reader', 'secret');
  const used: Promise<number>[] = [];
  service.app.services.databases.client.on('connectionCheckedOut', () => {
    used.push(now('in_use'));
  });
  const customers = Array.from({ length: 50 }, (_, index) => `/api/customer/list?search=a${index}`);
  const answers = await Promise.all(customers.map((path) => service.api.get(path, token)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(Math.max(...(await Promise.all(used)))).toBeGreaterThan(0);
  await eventually('nothing is under way', async () => {
    const inUse = await now('in_use');
    return inUse === 0 && (await now('awaited')) === 0;
  });
});
