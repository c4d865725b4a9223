/** What lies at every edge of the contract's bounds, through a whole projector: it is stored, found and answered. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeEvent } from '#shared/events/encode.ts';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS, type DeadLetter, RANK_NODES } from '#shared/read-models/collections.ts';
import type { LeafTexts } from '#shared/read-models/rank-tree/nodes.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { bytesOfTexts } from '#shared/read-models/search-texts.ts';
import { verifyStore } from '#shared/projection/verify/store.ts';
import { edgeEvent, FILLERS } from '#test/edge-events.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
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

/** Texts of each of these, and lists of entries that say nothing. */
const ALL = [...FILLERS, ''];

let service: QueryService;
let token: string;
beforeAll(async () => {
  service = await startQueryService();
  await service.setKey({ clientId: 'reader' });
  token = await service.api.token('reader', 'secret');
});
afterAll(() => service?.close());

const applied = () => caughtUp(service.installation, service.installation.environment, 240_000);
const letters = async () =>
  (await readModels(service.installation)).collection<DeadLetter>(DEAD_LETTERS).find().toArray();
const send = (messages: { key: string; value: Buffer | string; headers?: Record<string, string | string[]> }[]) =>
  service.installation.send(changesTopic(service.installation.environment), messages);

it('no event within the bounds becomes a dead letter, and each is answered', async () => {
  for (const [version, filler] of ALL.entries()) {
    for (const entity of ENTITY_NAMES) {
      const subject = entity === 'store' ? 's1' : `${entity}-${version}`;
      // One at a time: many are a mebibyte.
      await send([{ key: 's1', value: edgeEvent(entity, filler, { storeId: 's1', subject, sequence: version + 1 }) }]);
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

describe('names as long as they may be, which begin alike', () => {
  const PEOPLE = 400;
  /** A syllable that folding makes three letters of, nine bytes in all. */
  const nameOf = (id: number) => '한'.repeat(196) + String(id).padStart(4, '0');
  const customer = (id: number, action: 'changed' | 'deleted', sequence: number) => {
    const data = {
      name: nameOf(sequence === 1 ? id : PEOPLE - id),
      document: `${'𐐀'.repeat(240)}${id}`,
      phone: '9'.repeat(255),
      created_at: '2026-03-01T12:00:00Z',
    };
    const { key, value } = encodeEvent({
      entity: 'customer',
      storeId: 'long',
      subject: `c${id}`,
      source: '/test',
      sequence,
      ...(action === 'deleted' ? { action } : { data }),
    });
    return { key, value };
  };
  const ids = Array.from({ length: PEOPLE }, (_, id) => id);

  it('make leaves that are cut by their bytes, and are found', async () => {
    await send(ids.map((id) => customer(id, 'changed', 1)));
    await send(ids.map((id) => customer(id, id % 5 === 0 ? 'deleted' : 'changed', 2)));
    await applied();
    expect(await letters()).toEqual([]);

    const db = await readModels(service.installation);
    const leaves = await db
      .collection<LeafTexts>(RANK_NODES)
      .find({ _id: /^customer\/long\/leaf\// })
      .toArray();
    expect(leaves.length).toBeGreaterThan(10);
    for (const { texts } of leaves) {
      expect(bytesOfTexts(texts)).toBeLessThanOrEqual(RANK_TREES.customer.leafBytes);
    }
    const differences = await service.installation.mongodb.withSession({ snapshot: true }, (session) =>
      verifyStore(db, session, 'long'),
    );
    expect(differences).toEqual([]);

    await service.setKey({ clientId: 'long', storeId: 'long' });
    const longToken = await service.api.token('long', 'secret');
    const found = await service.api.list(
      `/api/customer/list?search=${encodeURIComponent('한'.repeat(90))}&page_size=1`,
      longToken,
    );
    expect(found.count).toBe((PEOPLE * 4) / 5);
    const one = await service.api.list('/api/customer/list?search=0123', longToken);
    expect(one.results).toMatchObject([{ id: `c${PEOPLE - 123}`, name: nameOf(123) }]);
  });
});

describe('poison at the edges', () => {
  it('holds up nothing, however many headers it has that say nothing', async () => {
    const before = (await letters()).length;
    const { key, value } = encodeEvent({
      entity: 'customer',
      storeId: 's1',
      subject: 'behind',
      source: '/test',
      sequence: 1,
      data: { name: 'Ana', created_at: '2026-03-01T12:00:00Z' },
    });
    await send([{ key: 's1', value: 'no event', headers: { '': Array.from({ length: 500_000 }, () => '') } }]);
    await send([{ key, value }]);
    await applied();
    const [letter] = (await letters()).slice(before);
    expect(letter).toMatchObject({ reason: 'too_large', cut: true });
    expect(letter?.headers.length).toBeGreaterThan(100);
    const { results } = await service.api.list('/api/customer/list?search=ana', token);
    expect(results).toMatchObject([{ id: 'behind' }]);
  });
});
