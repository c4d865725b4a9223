/** A store moves to another environment by the steps of docs/operations.md. */
import { beforeAll, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { CATEGORY_PRODUCTS, COLLECTIONS, TOMBSTONES } from '#shared/read-models/collections.ts';
import { anOrder } from '#test/changes.ts';
import { orderMessage } from '#test/events.ts';
import { useQueryService } from '#test/hooks.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { recordsOf } from '../../security/tenants.ts';
import { type CommandResult, runCommand, runJson } from './run-command.ts';

const service = useQueryService({ environments: 2, partitions: 1 });
let here: string;
let there: string;
beforeAll(async () => {
  [here = '', there = ''] = service.installation.config.environments;
  const tenant = { name: 'a', environment: here, secret: 'Pastelaria', phone: '84937164825' };
  await service.apply([
    ...recordsOf({ ...tenant, storeId: 's1' }),
    ...recordsOf({ ...tenant, storeId: 's10', secret: 'Vizinha' }),
    { entity: 'coupon', storeId: 's1', id: 'coupon-a' },
  ]);
});

/** An order's event, whose parts the forms of CloudEvents arrange differently. */
const order = (id: string) => JSON.parse(orderMessage(id).value) as { data: object };

/** Both environments must have the same data, except feed positions, which each assigns itself. */
async function contents(environment: string): Promise<object[][]> {
  const db = await readModels(service.installation, environment);
  const found = [];
  for (const name of [...Object.values(COLLECTIONS), CATEGORY_PRODUCTS, TOMBSTONES]) {
    const documents = await db.collection(name).find({ store_id: 's1' }).sort({ _id: 1 }).toArray();
    found.push(documents.map(({ feed_position: _position, ...document }) => document));
  }
  return found;
}

/** @returns what the export says. */
async function move(): Promise<CommandResult> {
  const { env } = service.installation;
  const exported = await runCommand(env, `stores export s1 -e ${here}`);
  await runJson(env, `publish - -e ${there}`, exported.stdout);
  await caughtUp(service.installation, there);
  return exported;
}

it('`stores export` and `publish` move every record and deletion, in any form of events, and nothing of other stores', async () => {
  const { data, ...attributes } = order('binary');
  const headers = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`ce_${name}`, String(value)]),
  );
  await service.installation.send(changesTopic(here), [
    {
      key: 's1',
      value: JSON.stringify(order('lines'), null, 2),
      headers: { ce_x: 'stray', 'content-type': 'application/cloudevents+json' },
    },
    {
      key: 's1',
      value: JSON.stringify(data),
      headers: { ...headers, 'content-type': 'application/json' },
    },
  ]);
  await caughtUp(service.installation, here);
  const before = await contents(here);
  expect(before.flat()).toHaveLength(12);
  const exported = await move();
  expect([exported.code, exported.stderr]).toEqual([0, `12 events of store s1 in ${here}\n`]);
  expect(await contents(there)).toEqual(before);
  expect(exported.stdout).not.toContain('Vizinha');
});

it('`stores export` and `publish` move later changes when repeated, and name invalid messages', async () => {
  await service.apply([anOrder('late')]);
  await service.installation.send(changesTopic(here), [{ key: 's1', value: 'poison' }]);
  const exported = await move();
  expect(exported.code).toBe(1);
  expect(exported.stderr).toContain('1 of its messages are not events and are left out');
  await caughtUp(service.installation, here);
  expect(await contents(there)).toEqual(await contents(here));
});
