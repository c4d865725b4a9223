/** Events at every bound of the contract pass a projector: they are stored, found and answered. */
import { beforeAll, expect, it } from 'vitest';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { edgeEvent, FILLERS } from '#test/edge-events.ts';
import { useQueryService } from '#test/hooks.ts';
import { caughtUp, readModels } from '#test/read-models.ts';

const LISTS: { readonly [E in EntityName]?: { list: string; details?: string } } = {
  coupon: { list: '/api/coupon/list', details: '/api/coupon/details/?coupon_id=' },
  customer: { list: '/api/customer/list' },
  review: { list: '/api/review/list', details: '/api/review/details/?review_id=' },
  campaign: { list: '/api/campaign/list', details: '/api/campaign/details/?campaign_id=' },
  order: { list: '/api/order/list', details: '/api/order/details/?order_id=' },
  category: { list: '/api/category/list', details: '/api/category/details/?category_id=' },
  product: { list: '/api/product/list', details: '/api/product/details/?product_id=' },
  option_group: { list: '/api/option-group/list' },
};

/** Characters of the texts; empty for lists of minimal entries. */
const ALL = [...FILLERS, ''];

const service = useQueryService();
let token: string;
beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'reader' });
});

const applied = () => caughtUp(service.installation, service.installation.environment, 240_000);
const letters = async () =>
  (await readModels(service.installation)).collection<DeadLetter>(DEAD_LETTERS).find().toArray();
const send = (
  messages: { key: string; value: Buffer | string; headers?: Record<string, string | string[]> }[],
) => service.installation.send(changesTopic(service.installation.environment), messages);

it('no event within the bounds becomes a dead letter, and each is answered', async () => {
  for (const [version, filler] of ALL.entries()) {
    for (const entity of ENTITY_NAMES) {
      const subject = entity === 'store' ? 's1' : `${entity}-${version}`;
      // One by one: many have a mebibyte.
      await send([
        {
          key: 's1',
          value: edgeEvent(entity, filler, { storeId: 's1', subject, sequence: version + 1 }),
        },
      ]);
    }
  }
  await applied();
  expect((await letters()).map(({ _id, detail }) => [_id, detail])).toEqual([]);

  expect((await service.api.get('/api/store/info/', token)).status).toBe(200);
  for (const [entity, { list, details }] of Object.entries(LISTS)) {
    const { count } = await service.api.list(`${list}?page_size=1`, token);
    expect([entity, count]).toEqual([entity, ALL.length]);
    for (const version of details === undefined ? [] : ALL.keys()) {
      const answer = await service.api.get(`${details}${entity}-${version}`, token);
      expect([entity, version, answer.status]).toEqual([entity, version, 200]);
    }
  }
});
