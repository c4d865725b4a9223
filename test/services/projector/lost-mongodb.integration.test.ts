/**
 * MongoDB is lost and replaced by an empty one: the projector restores all data of the log
 * (docs/recovery.md).
 */
import { expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, DEAD_LETTERS } from '#shared/read-models/collections.ts';
import { anOrder } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { runCommand, runJson } from '../admin/run-command.ts';

/** Collections that a backup of the control database omits: generations and log positions. */
const LEFT_OUT = new Set(['generations', CHECKPOINTS]);

const service = useQueryService({ partitions: 1 });

const control = () => service.installation.databases.control;
it('a MongoDB that is lost, with a backup of the control database, is filled from the log, and no key regains lost rights', async () => {
  const { api, installation, setKey, apply } = service;
  const { env, environment } = installation;
  const kept = await service.tokenOf({ clientId: 'kept' });
  const revoked = await service.tokenOf({ clientId: 'revoked' });
  const ended = await api.token('kept', 'secret');
  const statusOf = async (token: string) => (await api.get('/api/order/list', token)).status;
  await installation.send(changesTopic(environment), [{ key: 's1', value: 'no event' }]);
  await apply([anOrder('o1'), anOrder('o2')]);
  await setKey({ clientId: 'revoked', status: 'revoked' });
  expect((await runCommand(env, 'sessions revoke --token', { input: ended })).code).toBe(0);
  await runJson(env, `dead-letters drop ${changesTopic(environment)}/0/0 --yes`);
  const before = await dump(await readModels(installation));
  expect(before[DEAD_LETTERS]).toEqual([]);
  const audited = async () =>
    (await runJson<{ action: string }[]>(env, 'audit')).map(({ action }) => action);
  expect(await audited()).toContain('sessions.revoke');

  const backup = await Promise.all(
    (await control().collections())
      .filter(({ collectionName }) => !LEFT_OUT.has(collectionName))
      .map(async (one) => [one.collectionName, await one.find().toArray()] as const),
  );
  await service.stopProjector();
  for (const one of [control(), installation.databases.generation(environment, 1)])
    await one.dropDatabase();
  await eventually(
    'nothing is answered from what is lost',
    async () => (await statusOf(kept)) === 503,
  );
  for (const [name, documents] of backup)
    if (documents.length > 0) await control().collection(name).insertMany(documents);
  await service.startProjector();
  await caughtUp(installation);

  await eventually('it answers again', async () => (await statusOf(kept)) === 200);
  expect(await dump(await readModels(installation))).toEqual(before);
  const settled = { publish_pending: { $exists: false } };
  await eventually('keys are those of the log', async () => {
    return (await control().collection('access_keys').countDocuments(settled)) === 2;
  });
  expect([await statusOf(revoked), await statusOf(ended)]).toEqual([401, 401]);
  expect((await api.askToken('revoked', 'secret')).status).toBe(401);
  expect((await api.askToken('kept', 'secret')).status).toBe(200);
  // The log has neither decisions of operators nor the audit.
  expect(await audited()).toContain('sessions.revoke');
});
