/** Ids may be names of properties that every JavaScript object has. */
import { expect, it } from 'vitest';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { exampleEvent } from '#shared/events/describe-fields.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS } from '#shared/read-models/collections.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { readModels } from '#test/read-models.ts';
import { runCommand } from '../admin/run-command.ts';

const NAMES = ['__proto__', 'constructor', 'toString'];

const service = useQueryService();

it('ids named like properties are stored, found, deleted and in the feed like any other', async () => {
  const { installation, api, setKey } = service;
  const topic = changesTopic(installation.environment);
  const publish = async (sequence: number, action: 'changed' | 'deleted') => {
    const events = NAMES.flatMap((storeid) =>
      ENTITY_NAMES.flatMap((entity) =>
        (entity === 'store' ? [storeid] : NAMES).map((subject) => {
          const event = {
            ...exampleEvent(entity),
            storeid,
            subject,
            sequence,
            type: `store-data.${entity}.${action}`,
          };
          const value = JSON.stringify(event).replaceAll(
            /"(?:customer_id|category_id)":"[^"]*"/g,
            (field) => field.replace(/:.*/, `:"${subject}"`),
          );
          return { key: storeid, value };
        }),
      ),
    );
    await installation.send(topic, events);
  };
  for (const storeId of NAMES) await setKey({ clientId: storeId, storeId });
  const tokens = new Map<string, string>();
  for (const storeId of NAMES) tokens.set(storeId, await api.token(storeId, 'secret'));
  const lists = [
    'order',
    'customer',
    'product',
    'category',
    'review',
    'coupon',
    'campaign',
    'option-group',
  ];
  const counts = async () => {
    const found: unknown[] = [];
    for (const token of tokens.values()) {
      for (const list of lists) {
        const { status, json } = await api.get(`/api/${list}/list`, token);
        found.push([list, status, (json as { count?: number }).count]);
      }
    }
    return found;
  };
  const expected = (count: number) => NAMES.flatMap(() => lists.map((list) => [list, 200, count]));
  await publish(1, 'changed');
  await eventually(
    'all are there',
    async () => JSON.stringify(await counts()) === JSON.stringify(expected(3)),
    20_000,
  );
  for (const token of tokens.values()) {
    for (const path of [
      'menu/',
      'store/info/',
      'order/details/?order_id=__proto__',
      'order/changes',
    ]) {
      expect({ path, status: (await api.get(`/api/${path}`, token)).status }).toEqual({
        path,
        status: 200,
      });
    }
  }
  await publish(2, 'deleted');
  await eventually(
    'all are gone',
    async () => JSON.stringify(await counts()) === JSON.stringify(expected(0)),
    20_000,
  );
  const db = await readModels(installation);
  expect(await db.collection(DEAD_LETTERS).countDocuments()).toBe(0);
  expect(await runCommand(installation.env, ['verify', '--deep'])).toMatchObject({ code: 0 });
});
