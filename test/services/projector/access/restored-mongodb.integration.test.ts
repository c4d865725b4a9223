/**
 * MongoDB is restored from an old backup: Redis and the log still have the lost changes of access.
 */
import { expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { runCommand, runJson } from '../../admin/run-command.ts';

const service = useQueryService();

const COLLECTIONS = ['access_keys', 'store_access', 'revoked_sessions', 'checkpoints'];

/** Copies the collections. @returns what replaces them by the copies. */
async function backUp(): Promise<() => Promise<void>> {
  const copies = await Promise.all(
    COLLECTIONS.map(async (name) => {
      const collection = service.installation.databases.control.collection(name);
      return { collection, documents: await collection.find().toArray() };
    }),
  );
  return async () => {
    for (const { collection, documents } of copies) {
      await collection.deleteMany({});
      if (documents.length > 0) await collection.insertMany(documents);
    }
  };
}

it('no revoked right returns, and new revocations take effect', async () => {
  const { setKey, api, installation } = service;
  const { keys } = service.control;
  const tokens = new Map<string, string>();
  for (const clientId of ['logged', 'unlogged', 'narrowed', 'changed'])
    tokens.set(clientId, await service.tokenOf({ clientId }));
  const statusOf = async (clientId: string) =>
    (await api.get('/api/order/list', tokens.get(clientId) ?? '')).status;
  const restore = await backUp();

  await setKey({ clientId: 'logged', status: 'revoked' });
  // Many changes, so that the version is far above the backup's.
  for (const scopes of [['crm'], ['order'], ['crm'], ['order', 'crm']])
    await setKey({ clientId: 'changed', scopes });
  await setKey({ clientId: 'narrowed', scopes: ['crm'] });
  tokens.set('young', await service.tokenOf({ clientId: 'young' }));
  await service.stopProjector();
  const withoutKafka = { ...installation.env, KAFKA_BROKERS: '127.0.0.1:1' };
  expect((await runCommand(withoutKafka, 'keys revoke unlogged')).code).toBe(1);
  const right = { logged: 401, unlogged: 401, narrowed: 403, changed: 200, young: 200 };
  const expectRight = async (expected: Record<string, number>) => {
    for (const [clientId, status] of Object.entries(expected))
      expect([clientId, await statusOf(clientId)]).toEqual([clientId, status]);
  };
  await expectRight(right);

  await restore();
  expect(await keys.findOne({ _id: 'unlogged' })).toMatchObject({ status: 'active' });
  await expectRight(right);
  // A grant in Redis with a version above MongoDB's does not block a new change.
  await runJson(installation.env, 'keys deactivate changed');
  expect(await statusOf('changed')).toBe(401);

  await service.startProjector();
  // The log is applied again, and what only Redis knew is adopted.
  const stored = async () => {
    const ids = ['logged', 'unlogged', 'narrowed', 'young'];
    const found = await Promise.all(ids.map((_id) => keys.findOne({ _id })));
    return [...found.map((key) => key?.status), found[2]?.scopes];
  };
  const expected = ['revoked', 'revoked', 'active', 'active', ['crm']];
  await expect.poll(stored, { timeout: 120_000 }).toEqual(expected);
  const { changed: _either, ...rest } = right;
  await expectRight(rest);
  expect((await api.askToken('unlogged', 'secret')).status).toBe(401);
  expect((await api.askToken('logged', 'secret')).status).toBe(401);
});
