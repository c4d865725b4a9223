/**
 * MongoDB is restored from an old backup: Redis and the log still have the lost changes of access.
 */
import { expect, it } from 'vitest';
import type { Document } from 'mongodb';
import { controlCollections } from '#shared/access/access-keys.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { runCommand, runJson } from '../../admin/run-command.ts';

const service = useQueryService();

const COLLECTIONS = ['access_keys', 'store_access', 'revoked_sessions', 'checkpoints'];
const database = () => service.installation.databases.control;

async function backUp(): Promise<Map<string, Document[]>> {
  const backup = new Map<string, Document[]>();
  for (const name of COLLECTIONS)
    backup.set(name, await database().collection(name).find().toArray());
  return backup;
}

async function restore(backup: Map<string, Document[]>): Promise<void> {
  for (const [name, documents] of backup) {
    await database().collection(name).deleteMany({});
    if (documents.length > 0) await database().collection(name).insertMany(documents);
  }
}

it('no revoked right returns, and new revocations take effect', async () => {
  const { setKey, api, installation } = service;
  const { keys } = controlCollections(database());
  const tokens = new Map<string, string>();
  for (const clientId of ['logged', 'unlogged', 'narrowed', 'changed']) {
    await setKey({ clientId });
    tokens.set(clientId, await api.token(clientId, 'secret'));
  }
  const statusOf = async (clientId: string) =>
    (await api.get('/api/order/list', tokens.get(clientId) ?? '')).status;
  const backup = await backUp();

  await setKey({ clientId: 'logged', status: 'revoked' });
  // Many changes, so that the version is far above the backup's.
  for (const scopes of [['crm'], ['order'], ['crm'], ['order', 'crm']])
    await setKey({ clientId: 'changed', scopes });
  await setKey({ clientId: 'narrowed', scopes: ['crm'] });
  await setKey({ clientId: 'young' });
  tokens.set('young', await api.token('young', 'secret'));
  await service.stopProjector();
  const withoutKafka = { ...installation.env, KAFKA_BROKERS: '127.0.0.1:1' };
  expect((await runCommand(withoutKafka, 'keys revoke unlogged')).code).toBe(1);
  const right = { logged: 401, unlogged: 401, narrowed: 403, changed: 200, young: 200 };
  const allIsRight = async (expected: Record<string, number>) => {
    for (const [clientId, status] of Object.entries(expected)) {
      if ((await statusOf(clientId)) !== status) return false;
    }
    return true;
  };
  expect(await allIsRight(right)).toBe(true);

  await restore(backup);
  expect(await keys.findOne({ _id: 'unlogged' })).toMatchObject({ status: 'active' });
  expect(await allIsRight(right)).toBe(true);
  // A grant in Redis with a version above MongoDB's does not block a new change.
  await runJson(installation.env, 'keys deactivate changed');
  expect(await statusOf('changed')).toBe(401);

  await service.startProjector();
  await eventually('the log is applied again, and what only Redis knew is adopted', async () => {
    const [logged, unlogged, narrowed, young] = await Promise.all(
      ['logged', 'unlogged', 'narrowed', 'young'].map((_id) => keys.findOne({ _id })),
    );
    return (
      logged?.status === 'revoked' &&
      unlogged?.status === 'revoked' &&
      narrowed?.scopes.join() === 'crm' &&
      young?.status === 'active'
    );
  });
  const { changed: _either, ...rest } = right;
  expect(await allIsRight(rest)).toBe(true);
  // Redis loses everything: only MongoDB still has the revocation.
  expect((await api.askToken('unlogged', 'secret')).status).toBe(401);
  expect((await api.askToken('logged', 'secret')).status).toBe(401);
});
