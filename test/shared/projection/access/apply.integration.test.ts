import { expect, it } from 'vitest';
import { controlCollections } from '#shared/access/access-keys.ts';
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { changesTopic } from '#shared/events/topics.ts';
import type { LogBounds } from '#shared/kafka/positions.ts';
import { applyAccess } from '#shared/projection/access/apply.ts';
import { kafkaMessage, keyEvent, storeAccessEvent, type TestEvent } from '#test/events.ts';
import { useInstallation } from '#test/hooks.ts';

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

let boundsOfChanges = async (): Promise<LogBounds> => new Map([[0, { start: 0, end: 5 }]]);

async function apply(...events: TestEvent[]) {
  const { databases, environment, mongodb } = installation;
  const messages = events.map((event, offset) => kafkaMessage(event, offset));
  const slice = { topic: 'access', partition: 0, messages, next: messages.length };
  return mongodb.withSession((session) =>
    applyAccess(databases.control, environment, session, slice, { boundsOfChanges }),
  );
}

it('reports each event that took effect, and each changed record once', async () => {
  const { changed, applied, outdated } = await apply(
    keyEvent('k', 1),
    keyEvent('k', 2),
    keyEvent('k', 2),
    storeAccessEvent('s1', 1, 'blocked'),
    of('store_quota', 's1', { requests: 5 }),
    erasure('s1'),
  );
  expect(applied).toEqual(['access_key', 'access_key', 'store_access', 'store_quota', 'store_erasure']);
  expect([changed.length, outdated]).toEqual([2, 1]);
});

it('skips nothing by an end that the log of changes does not reach, unless that log cannot be asked', async () => {
  const { databases, environment } = installation;
  const topic = changesTopic(environment);
  const last = { offset: 4, timestamp: 0, digest: 'a'.repeat(22) };
  const skips = async (storeId: string, partition: number) =>
    (await findErasedIn(databases.control, environment)([storeId])).skips(
      storeId,
      { topic, partition },
      { offset: '4', timestamp: '0' },
    );
  await apply(
    erasure('within', [{ partition: 0, end: 5, last }]),
    erasure('beyond', [{ partition: 0, end: 6, last }]),
    erasure('elsewhere', [{ partition: 1, end: 5, last }]),
  );
  expect([await skips('within', 0), await skips('beyond', 0), await skips('elsewhere', 1)]).toEqual([
    true,
    false,
    false,
  ]);
  // As other logs' ends are noted, so that they count again where their log is back.
  const { stores } = controlCollections(databases.control);
  expect((await stores.findOne({ store_id: 'beyond' }))?.erased?.ends).toMatchObject([{ end: 6, other_log: true }]);
  boundsOfChanges = () => Promise.reject(new Error('away'));
  await apply(erasure('unknown', [{ partition: 0, end: 6, last }]));
  expect(await skips('unknown', 0)).toBe(true);
});
