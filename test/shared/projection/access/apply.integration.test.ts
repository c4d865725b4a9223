import { afterAll, beforeAll, expect, it } from 'vitest';
import { createServers, type Servers } from '#admin/servers.ts';
import { controlCollections } from '#shared/access/access-keys.ts';
import { findErasedIn, judgeEnds, lastMessageBefore } from '#shared/access/erased-stores.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { applyAccess } from '#shared/projection/access/apply.ts';
import {
  kafkaMessage,
  keyEvent,
  orderMessage,
  storeAccessEvent,
  type TestEvent,
} from '#test/events.ts';
import { useInstallation } from '#test/hooks.ts';
import { times } from '#test/times.ts';

const installation = useInstallation();

const of = (entity: 'store_quota' | 'store_erasure', storeId: string, data: object): TestEvent => ({
  entity,
  storeId,
  subject: storeId,
  sequence: 1,
  data,
});
const erasure = (storeId: string, ends: object[] = []) =>
  of('store_erasure', storeId, { erased_at: '2026-03-01T12:00:00Z', ends });

let servers: Servers;
beforeAll(() => {
  servers = createServers({ config: installation.config, origin: 'the test' });
});
afterAll(() => servers[Symbol.asyncDispose]());
let judge: Parameters<typeof applyAccess>[4]['judgeEnds'] = async (ends) => {
  return judgeEnds(await servers.logReader(changesTopic(installation.environment)), ends);
};

async function apply(...events: TestEvent[]) {
  const { databases, environment, mongodb } = installation;
  const messages = events.map((event, offset) => kafkaMessage(event, offset));
  const slice = { topic: 'access', partition: 0, messages, next: messages.length };
  return mongodb.withSession((session) =>
    applyAccess(databases.control, environment, session, slice, { judgeEnds: judge }),
  );
}

it('a slice of access reports each event that took effect, and each changed record once', async () => {
  const { changed, applied, outdated } = await apply(
    keyEvent('k', 1),
    keyEvent('k', 2),
    keyEvent('k', 2),
    storeAccessEvent('s1', 1, 'blocked'),
    of('store_quota', 's1', { requests: 5 }),
    erasure('s1'),
  );
  expect(applied).toEqual([
    'access_key',
    'access_key',
    'store_access',
    'store_quota',
    'store_erasure',
  ]);
  expect([changed.length, outdated]).toEqual([2, 1]);
});

it('an erasure skips nothing by an end that the log of changes does not have, unless that log cannot be asked', async () => {
  const { databases, environment } = installation;
  const topic = changesTopic(environment);
  await installation.send(
    topic,
    times(5, (id) => ({ ...orderMessage(`o${id}`), partition: 0 })),
  );
  const log = await servers.logReader(topic);
  const last = await lastMessageBefore(log, 0, 5);
  const skips = async (storeId: string, partition = 0) =>
    (await findErasedIn(databases.control, environment)([storeId])).skips(
      storeId,
      { topic, partition },
      { offset: '4' },
    );
  const withEnd = (storeId: string, over: object) =>
    erasure(storeId, [{ partition: 0, end: 5, last, ...over }]);
  await apply(
    withEnd('within', {}),
    withEnd('beyond', { end: 6 }),
    withEnd('elsewhere', { partition: 1 }),
    withEnd('never-published', { last: { ...last, digest: 'a'.repeat(22) } }),
    withEnd('of-another-time', { last: { ...last, timestamp: 1 } }),
  );
  expect([await skips('within'), await skips('within', 1)]).toEqual([true, false]);
  expect(await skips('elsewhere', 1)).toBe(false);
  // As other logs' ends are noted, so that they count again where their log is back.
  const { stores } = controlCollections(databases.control);
  for (const store of ['beyond', 'never-published', 'of-another-time']) {
    expect(await skips(store), store).toBe(false);
    expect((await stores.findOne({ store_id: store }))?.erased?.ends).toMatchObject([
      { other_log: true },
    ]);
  }
  judge = () => Promise.reject(new Error('away'));
  await apply(withEnd('unknown', { end: 6 }));
  expect(await skips('unknown')).toBe(true);
});
