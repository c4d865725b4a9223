/** An environment with its own Kafka and MongoDB, one on the installation's servers, and what they share. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { controlCollections } from '#shared/access/access-keys.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { STORE_RECORDS_PENDING } from '#shared/read-models/collections.ts';
import { MINIMAL } from './helpers/changes.ts';
import { orderMessage } from './helpers/events.ts';
import { eventually } from './helpers/installation.ts';
import { order, type OwnServers, startOwnServers } from './helpers/own-servers.ts';
import { caughtUp, readModels } from './helpers/read-models.ts';
import { startService } from './helpers/service-process.ts';
import { withAdmin } from './helpers/topics.ts';
import { runCommand, runJson } from './services/admin/run-command.ts';

const KILLED = new URL('helpers/killed-adopting.ts', import.meta.url).pathname;

let servers: OwnServers;
beforeAll(async () => {
  servers = await startOwnServers();
});
afterAll(() => servers?.close());

/** The installation's topics and databases on an environment's servers. */
async function foundOn(environment: string): Promise<string[]> {
  const { common, own, service } = servers;
  const { kafkaOf, databases, config } = service.installation;
  const topics = await withAdmin(kafkaOf(changesTopic(environment)), (admin) => admin.listTopics());
  const found = await databases.clientOf(environment).db().admin().listDatabases({ nameOnly: true });
  return [...topics, ...found.databases.map(({ name }) => name.replace(config.namePrefix, '*'))]
    .filter((name) => name.startsWith('*') || name.endsWith(common) || name.endsWith(own))
    .toSorted();
}

it('answers each environment from its own servers, and keeps shared data on the installation’s', async () => {
  const { common, own, service, answers } = servers;
  await service.apply([order('o1')], common);
  await service.apply([order('o1'), order('o2')], own);
  await answers(common, ['o1']);
  await answers(own, ['o1', 'o2']);
  expect(await foundOn(own)).toEqual([`*_${own}_g1`, changesTopic(own)]);
  expect(await foundOn(common)).toEqual(
    [`*_${common}_g1`, '*_control', changesTopic(common), `store-access.${common}`, `store-access.${own}`].toSorted(),
  );
});

it('supports commands on both: publish, lag, dead letters, verification, rebuild and erasure', async () => {
  const { own, service, answers, publish } = servers;
  const { env, send } = service.installation;
  const at = ['--environment', own];
  expect(await runJson(env, ['publish', '-', ...at], orderMessage('o3').value)).toMatchObject({ sent: 1 });
  await send(changesTopic(own), [{ key: 's1', value: 'no event' }]);
  await caughtUp(service.installation, own);
  await answers(own, ['o1', 'o2', 'o3']);
  expect(await runJson(env, ['lag'])).toMatchObject({ lag: 0 });
  const retried = await runCommand(env, ['dead-letters', 'retry', '--all', '--json', ...at]);
  expect(JSON.parse(retried.stdout)).toMatchObject({ applied: 0, stayed: [{ reason: 'malformed' }] });
  expect(await runJson(env, ['dead-letters', 'drop', '--all', '--yes', ...at])).toEqual({ dropped: 1 });
  expect(await runJson(env, ['verify', '--deep', ...at])).toMatchObject({
    differences: [],
    deep: { records: 3 },
  });
  expect(await runJson(env, ['rebuild', '--share', '100', ...at])).toMatchObject({
    flipped: { from: 1, to: 2 },
  });
  await answers(own, ['o1', 'o2', 'o3']);
  expect(await foundOn(own)).toEqual([`*_${own}_g1`, `*_${own}_g2`, changesTopic(own)]);
  await publish('o9', 's2');
  await caughtUp(service.installation, own);
  expect((await runCommand(env, ['stores', 'erase', 's2', '--yes', ...at])).code).toBe(0);
  const orders = (await readModels(service.installation, own)).collection('orders');
  expect(await orders.countDocuments({ store_id: 's2' })).toBe(0);
});

it('blocks a store whose record says so, even if a projector is killed between writes to two servers', async () => {
  const { own, service, ask } = servers;
  const { installation } = service;
  const { stores } = controlCollections(installation.databases.control);
  const marked = async () => {
    const db = await readModels(installation, own);
    return db.collection(STORE_RECORDS_PENDING).countDocuments();
  };
  await service.stopProjector();
  const data = { ...MINIMAL.store, status: 'blocked' };
  await installation.publish([{ entity: 'store', storeId: 's1', subject: 's1', sequence: 1, data }], own);

  const killed = startService('projector', installation.env, 'info', KILLED);
  expect(await killed.ended).toEqual({ code: null, signal: 'SIGKILL' });
  const adopted = await stores.findOne({ environment: own, store_id: 's1' });
  expect(adopted).toMatchObject({ record_status: 'blocked', record_sequence: 1 });
  expect(await marked()).toBe(1);

  await service.startProjector();
  await eventually('it is no longer marked', async () => (await marked()) === 0);
  expect(await stores.findOne({ environment: own, store_id: 's1' })).toMatchObject({
    version: adopted?.version,
  });
  await eventually('its keys are refused', async () => (await ask(own)).status === 401);
});
