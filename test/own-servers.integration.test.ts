/** An environment with a Kafka and a MongoDB of its own beside one that uses the installation's, and what is common to both. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { controlCollections } from '#shared/access/access-keys.ts';
import { STORE_RECORDS_PENDING } from '#shared/read-models/collections.ts';
import { type KafkaCluster, startKafkaCluster } from './faults/servers/kafka-cluster.ts';
import { type ReplicaSet, startReplicaSet } from './faults/servers/replica-set.ts';
import { eventually } from './helpers/installation.ts';
import { type QueryService, startQueryService, type TestChange } from './helpers/query-service.ts';
import { caughtUp, readModels } from './helpers/read-models.ts';
import { startService } from './helpers/service-process.ts';
import { runCommand, runJson } from './services/admin/run-command.ts';

let kafka: KafkaCluster;
let mongodb: ReplicaSet;
let service: QueryService;
let common: string;
let own: string;
const tokens = new Map<string, string>();

beforeAll(async () => {
  [kafka, mongodb] = await Promise.all([startKafkaCluster(1), startReplicaSet(1)]);
  service = await startQueryService({
    environments: 2,
    own: [{}, { KAFKA_BROKERS: kafka.brokers, MONGODB_URI: mongodb.uri }],
  });
  [common = '', own = ''] = service.installation.config.environments;
  for (const environment of [common, own]) {
    await service.setKey({ clientId: `of-${environment}`, environment });
    tokens.set(environment, await service.api.token(`of-${environment}`, 'secret'));
  }
});
afterAll(async () => {
  await service?.close();
  await Promise.all([kafka?.close(), mongodb?.close()]);
});

const KILLED = new URL('helpers/killed-adopting.ts', import.meta.url).pathname;

const ORDER = {
  status: 'pending',
  order_type: 'delivery',
  total: '1.00',
  created_at: '2026-01-01T00:00:00Z',
};
const order = (id: string): TestChange => ({ entity: 'order', storeId: 's1', id, data: ORDER });

/** Publishes an order to the environment of its own, without waiting until it is applied. */
const publish = (subject: string, storeId = 's1') =>
  service.installation.publish([{ entity: 'order', storeId, subject, sequence: 1, data: ORDER }], own);

const ask = (environment: string) => service.api.get('/api/order/list', tokens.get(environment) ?? '');

/** What an environment answers, in the order of ids. */
async function ordersOf(environment: string): Promise<string[]> {
  const { status, json } = await ask(environment);
  if (status !== 200) return [`answered ${status}`];
  return (json as { results: { id: string }[] }).results.map(({ id }) => id).toSorted();
}

const answers = (environment: string, ids: string[]) =>
  eventually(
    `${environment} answers ${ids.join(', ')}`,
    async () => (await ordersOf(environment)).join() === ids.join(),
  );

/** The topics and databases of an installation that lie on some servers. */
async function foundOn(environment: string): Promise<string[]> {
  const { installation } = service;
  const admin = installation.kafkaOf(changesTopic(environment)).admin();
  await admin.connect();
  const topics = await admin.listTopics();
  await admin.disconnect();
  const client = installation.databases.clientOf(environment);
  const { databases } = await client.db().admin().listDatabases({ nameOnly: true });
  const { namePrefix } = installation.config;
  return [...topics, ...databases.map(({ name }) => name.replace(namePrefix, '*'))]
    .filter((name) => name.startsWith('*') || name.endsWith(common) || name.endsWith(own))
    .toSorted();
}

it('answers each environment from its own servers, and keeps what is common on those of the installation', async () => {
  await service.apply([order('o1')], common);
  await service.apply([order('o1'), order('o2')], own);
  await answers(common, ['o1']);
  await answers(own, ['o1', 'o2']);
  expect(await foundOn(own)).toEqual([`*_${own}_g1`, changesTopic(own)]);
  expect(await foundOn(common)).toEqual(
    [
      `*_${common}_g1`,
      '*_control',
      changesTopic(common),
      `store-access.${common}`,
      `store-access.${own}`,
    ].toSorted(),
  );
});

it('lets commands work on both: feeding, lag, dead letters, verification, rebuild and erasure', async () => {
  const { env, send } = service.installation;
  const event = {
    specversion: '1.0',
    id: '1',
    source: '/test',
    type: 'store-data.order.changed',
    subject: 'o3',
    time: '2026-01-01T00:00:00Z',
    storeid: 's1',
    sequence: '1',
    data: ORDER,
  };
  const at = ['--environment', own];
  expect(await runJson(env, ['publish', '-', ...at], JSON.stringify(event))).toMatchObject({ sent: 1 });
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
  const left = (await readModels(service.installation, own))
    .collection('orders')
    .countDocuments({ store_id: 's2' });
  expect(await left).toBe(0);
});

it('blocks a store whose record says so, also when a projector is killed between its two servers', async () => {
  const { installation } = service;
  const { stores } = controlCollections(installation.databases.control);
  const marks = async () => (await readModels(installation, own)).collection(STORE_RECORDS_PENDING);
  await service.stopProjector();
  const data = {
    name: 'Store',
    status: 'blocked',
    timezone_offset: '-03:00',
    created_at: '2026-01-01T00:00:00Z',
  };
  await installation.publish([{ entity: 'store', storeId: 's1', subject: 's1', sequence: 1, data }], own);

  const killed = startService('projector', installation.env, 'info', KILLED);
  expect(await killed.ended).toEqual({ code: null, signal: 'SIGKILL' });
  const adopted = await stores.findOne({ environment: own, store_id: 's1' });
  expect(adopted).toMatchObject({ record_status: 'blocked', record_sequence: 1 });
  expect(await (await marks()).countDocuments()).toBe(1);

  await service.startProjector();
  await eventually('it is no longer marked', async () => (await (await marks()).countDocuments()) === 0);
  expect(await stores.findOne({ environment: own, store_id: 's1' })).toMatchObject({
    version: adopted?.version,
  });
  await eventually('nobody is let in', async () => (await ask(own)).status === 401);
});
