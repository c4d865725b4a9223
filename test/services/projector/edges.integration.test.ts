/** Events at every bound of the contract pass a projector: they are stored, found and answered. */
import { expect, it } from 'vitest';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { edgeEvent } from '#test/edge-events.ts';
import { useQueryService } from '#test/hooks.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { words } from '#test/words.ts';

const DETAILED = new Set(words('coupon review campaign order category product'));

/**
 * Characters of one to four bytes, of two or six bytes in JSON, and ones that folding makes longer.
 */
const FILLERS = [
  'a',
  'ã',
  '€',
  '😀',
  '"',
  '\\',
  '\n',
  '\u0001',
  '\u2028',
  '한',
  '\u0344',
  // Lists of minimal entries.
  '',
];

const service = useQueryService();

it('no event within the bounds becomes a dead letter, and each is answered', async () => {
  const { installation, api } = service;
  const { environment } = installation;
  const token = await service.tokenFor('s1');
  for (const [version, filler] of FILLERS.entries()) {
    for (const entity of ENTITY_NAMES) {
      const subject = entity === 'store' ? 's1' : `${entity}-${version}`;
      // One by one: many have a mebibyte.
      await installation.send(changesTopic(environment), [
        {
          key: 's1',
          value: edgeEvent(entity, filler, { storeId: 's1', subject, sequence: version + 1 }),
        },
      ]);
    }
  }
  await caughtUp(installation, environment, 240_000);
  const letters = (await readModels(installation)).collection<DeadLetter>(DEAD_LETTERS);
  const found = await letters.find().toArray();
  expect(found.map(({ _id, detail }) => [_id, detail])).toEqual([]);

  expect((await api.get('/api/store/info/', token)).status).toBe(200);
  for (const entity of ENTITY_NAMES.filter((name) => name !== 'store')) {
    const path = `/api/${entity.replace('_', '-')}`;
    const { count } = await api.list(`${path}/list?page_size=1`, token);
    expect([entity, count]).toEqual([entity, FILLERS.length]);
    for (const version of DETAILED.has(entity) ? FILLERS.keys() : []) {
      const answer = await api.get(`${path}/details/?${entity}_id=${entity}-${version}`, token);
      expect([entity, version, answer.status]).toEqual([entity, version, 200]);
    }
  }
});
