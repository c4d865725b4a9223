import { expect, it } from 'vitest';
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

async function apply(...events: TestEvent[]) {
  const { databases, environment, mongodb } = installation;
  const messages = events.map((event, offset) => kafkaMessage(event, offset));
  const slice = { topic: 'access', partition: 0, messages, next: messages.length };
  return mongodb.withSession((session) => applyAccess(databases.control, environment, session, slice));
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
