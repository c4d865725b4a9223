/** A store moves to another environment by the steps of docs/operations.md. */
import { beforeAll, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { CATEGORY_PRODUCTS, COLLECTIONS, TOMBSTONES } from '#shared/read-models/collections.ts';
import { useQueryService } from '#test/hooks.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { idOf, recordsOf, type Tenant } from '../../security/tenants.ts';
import { runCommand, runJson } from './run-command.ts';

const service = useQueryService({ environments: 2, partitions: 1 });
let here: string;
let there: string;
let tenant: Tenant;
beforeAll(async () => {
  [here = '', there = ''] = service.installation.config.environments;
  tenant = {
    name: 'a',
    storeId: 's1',
    environment: here,
    secret: 'Pastelaria',
    phone: '84937164825',
  };
  await service.setKey({ clientId: 'old', storeId: 's1' });
  await service.apply([
    ...recordsOf(tenant),
    ...recordsOf({ ...tenant, storeId: 's10', secret: 'Vizinha' }),
    { entity: 'coupon', storeId: 's1', id: idOf('coupon', tenant) },
  ]);
});

const review = { rating: 4, created_at: '2026-01-03T12:00:00Z' };
const attributes = (id: string, sequence: number) => ({
  specversion: '1.0',
  id: `${id}-${sequence}`,
  source: '/other',
  type: 'store-data.review.changed',
  subject: id,
  time: '2026-01-03T12:00:00Z',
  storeid: 's1',
  sequence: String(sequence),
});

/** Both environments must have the same data, except feed positions, which each assigns itself. */
async function contents(environment: string): Promise<unknown[]> {
  const db = await readModels(service.installation, environment);
  const found: unknown[] = [];
  for (const name of [...Object.values(COLLECTIONS), CATEGORY_PRODUCTS, TOMBSTONES]) {
    const documents = await db.collection(name).find({ store_id: 's1' }).sort({ _id: 1 }).toArray();
    found.push(
      ...documents.map(({ feed_position: _position, ...document }) => ({ name, ...document })),
    );
  }
  return found;
}

async function move(): Promise<{ sent: number; exported: Awaited<ReturnType<typeof runCommand>> }> {
  const { env } = service.installation;
  const exported = await runCommand(env, ['stores', 'export', 's1', '-e', here]);
  const input = exported.stdout;
  const { sent } = await runJson<{ sent: number }>(env, ['publish', '-', '-e', there], input);
  await caughtUp(service.installation, there);
  return { sent, exported };
}

it('`stores export` and `publish` move every record and deletion, in any form of events, and nothing of other stores', async () => {
  const { send } = service.installation;
  const headers = Object.fromEntries(
    Object.entries(attributes('binary', 100)).map(([name, value]) => [`ce_${name}`, value]),
  );
  const structured = { ce_x: 'stray', 'content-type': 'application/cloudevents+json' };
  await send(changesTopic(here), [
    {
      key: 's1',
      value: JSON.stringify({ ...attributes('lines', 101), data: review }, null, 2),
      headers: structured,
    },
    {
      key: 's1',
      value: JSON.stringify(review),
      headers: { ...headers, 'content-type': 'application/json' },
    },
  ]);
  await caughtUp(service.installation, here);
  const before = await contents(here);
  expect(before.length).toBeGreaterThan(11);
  const { sent, exported } = await move();
  expect([exported.code, exported.stderr]).toEqual([0, `${sent} events of store s1 in ${here}\n`]);
  expect(sent).toBe(12);
  expect(await contents(there)).toEqual(before);
  expect(exported.stdout).not.toContain('Vizinha');
});

it('`stores export` and `publish` move later changes when repeated, names invalid messages, and ends with an erasure', async () => {
  const { env, send } = service.installation;
  await service.apply([{ entity: 'review', storeId: 's1', id: 'late', data: review }]);
  await send(changesTopic(here), [{ key: 's1', value: 'poison' }]);
  const { exported } = await move();
  expect(exported.code).toBe(1);
  expect(exported.stderr).toContain('1 of its messages are not events and are left out');
  await caughtUp(service.installation, here);
  expect(await contents(there)).toEqual(await contents(here));

  const token = await service.tokenOf({ clientId: 'new', storeId: 's1', environment: there });
  await runJson(env, ['stores', 'erase', 's1', '-e', here, '--yes']);
  expect((await service.api.askToken('old', 'secret')).status).toBe(401);
  expect((await service.api.list('/api/review/list', token)).count).toBe(4);
  expect((await runCommand(env, ['stores', 'show', 's1', '-e', here])).stdout).toMatch(
    /^status +blocked: it was erased$/m,
  );
  const after = await runCommand(env, ['stores', 'export', 's1', '-e', here]);
  expect([after.code, after.stdout]).toEqual([0, '']);
});
