/**
 * Kafka and then MongoDB are lost, on servers of this test. It runs the commands of
 * docs/recovery.md in order, and checks that both procedures end as documented.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLogger } from '#shared/logging.ts';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import { readConfig } from '#shared/config.ts';
import { startProjector } from '#projector/projector.ts';
import { orderMessage } from '#test/events.ts';
import { documentedCommands } from '#test/documented-commands.ts';
import { eventually } from '#test/installation.ts';
import { PATIENCE } from '#test/patience.ts';
import { type RunningApp, startApp } from '#test/query-service.ts';
import { firingAlerts } from './deploy/prometheus/firing-alerts.ts';
import { type KafkaCluster, startKafkaCluster } from './faults/servers/kafka-cluster.ts';
import { type ReplicaSet, startReplicaSet } from './faults/servers/replica-set.ts';
import { startRedisProcess } from './helpers/redis-process.ts';
import { runCommand, runJson } from './services/admin/run-command.ts';

interface Key {
  client_id: string;
  client_secret: string;
}

const ORDERS = 3;

let kafka: KafkaCluster;
let mongodb: ReplicaSet;
let redis: Awaited<ReturnType<typeof startRedisProcess>>;
let env: Record<string, string>;
let projector: Awaited<ReturnType<typeof startProjector>> | null = null;
let query: RunningApp | null = null;
const keys = new Map<string, Key>();

beforeAll(async () => {
  [kafka, mongodb, redis] = await Promise.all([
    startKafkaCluster(1),
    startReplicaSet(1),
    startRedisProcess(),
  ]);
  env = {
    ...PATIENCE,
    ENVIRONMENTS: 'production',
    KAFKA_BROKERS: kafka.brokers,
    MONGODB_URI: mongodb.uri,
    REDIS_URL: redis.url,
    LOG_LEVEL: 'silent',
    QUERY_PORT: '0',
    OPERATIONS_PORT: '0',
    SIGNING_KEYS: JSON.stringify({ keys: [await newSigningKey()] }),
  };
});
afterAll(async () => {
  await stopServices();
  await Promise.all([kafka?.close(), mongodb?.close(), redis?.close()]);
});

async function stopProjector(): Promise<void> {
  await projector?.stop();
  projector = null;
}

async function stopServices(): Promise<void> {
  await stopProjector();
  await query?.app.close();
  query = null;
}

async function startTheProjector(): Promise<void> {
  projector = await startProjector(readConfig(env), createLogger('projector', 'silent'));
}

/** Runs a command of the document. */
async function run(args: string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(
    env,
    args,
    input === undefined ? {} : { input },
  );
  expect([args.join(' '), code, stderr]).toEqual([args.join(' '), 0, expect.anything()]);
  return stdout;
}
const words = (command: string) => command.split(' ');
const json = <T>(command: string) => runJson<T>(env, words(command));

const untilApplied = () =>
  eventually('the lag is 0', async () => (await json<{ lag: number | null }>('lag')).lag === 0);

async function publish(...stores: string[]): Promise<void> {
  const lines = stores.flatMap((storeId) =>
    Array.from({ length: ORDERS }, (_, index) => orderMessage(`o${index}`, { storeId }).value),
  );
  await run(words('publish - --environment production'), `${lines.join('\n')}\n`);
}

async function makeKey(name: string, store: string): Promise<void> {
  keys.set(
    name,
    await json<Key>(`keys create --store ${store} --environment production --scopes order`),
  );
}

/** The orders and quota that a key gets, or the reason of its refusal. */
async function answerTo(name: string): Promise<string> {
  const { client_id, client_secret } = keys.get(name) ?? { client_id: '', client_secret: '' };
  const asked = await query?.api.askToken(client_id, client_secret);
  if (asked?.status !== 200) return `no token: ${asked?.status}`;
  const { access_token } = asked.json as { access_token: string };
  const list = await query?.api.get('/api/order/list', access_token);
  if (list?.status !== 200) return `no list: ${list?.status}`;
  return `${(list.json as { count: number }).count} orders, ${list.headers.get('ratelimit-policy')}`;
}

const ALL = `${ORDERS} orders, "store";q=777;w=60`;

/** The documented end of both procedures. */
async function expectHealthy(): Promise<void> {
  for (const name of ['kept', ...(keys.has('new') ? ['new'] : [])]) {
    await eventually(`${name} is answered`, async () => (await answerTo(name)) === ALL);
  }
  expect([await answerTo('revoked'), await answerTo('gone'), await answerTo('blocked')]).toEqual([
    'no token: 401',
    'no token: 401',
    'no token: 400',
  ]);
  const orders = (store: string) =>
    json<{ counts: { orders: number }; blocked: boolean }>(`stores show ${store} -e production`);
  expect(await orders('gone')).toMatchObject({ counts: { orders: 0 }, blocked: true });
  const { generations } = await json<{ generations: { state: string }[] }>('generations list');
  expect(generations.map(({ state }) => state)).toEqual(['live']);
  // A change may still be on its way to Redis, so that an alert would fire if that state lasted.
  await eventually('no alert fires', async () => ((await alerts()) ?? '') === '');
}

const alerts = () =>
  firingAlerts([projector?.metrics.registry, query?.app.services.metrics.registry]);

it(
  'is healthy again after the loss of Kafka, and then of MongoDB',
  { timeout: 600_000 },
  async () => {
    await run(words('prepare --partitions 2'));
    await startTheProjector();
    query = await startApp(readConfig(env));
    for (const [name, store] of [
      ['kept', 's1'],
      ['revoked', 's1'],
      ['blocked', 's2'],
      ['gone', 'gone'],
    ] as const) {
      await makeKey(name, store);
    }
    await publish('s1', 's2', 'gone');
    await untilApplied();
    await json(`keys revoke ${keys.get('revoked')?.client_id}`);
    await json('quota set --store s1 --environment production --requests 777');
    await json('stores block s2 --environment production');
    await json('stores erase gone --environment production --yes');
    await expectHealthy();

    // Kafka is lost. Answers stay the same.
    const lost = kafka;
    kafka = await startKafkaCluster(1);
    await lost.close();
    expect(await answerTo('kept')).toBe(ALL);
    env['KAFKA_BROKERS'] = kafka.brokers;
    for (const { args } of documentedCommands('recovery.md', 'Kafka is lost')) {
      if (args[0] === 'lag') await untilApplied();
      const said = await run(args);
      if (args[0] === 'prepare') {
        await publish('s1', 's2');
        await stopProjector();
        await startTheProjector();
        const stopped = async () =>
          (await projector?.metrics.stopped.get())?.values.filter(({ value }) => value === 1)
            .length ?? 0;
        await eventually('the partitions have stopped', async () => (await stopped()) > 1);
        expect((await alerts()) ?? 'StoreDataPartitionStopped').toContain(
          'StoreDataPartitionStopped',
        );
      }
      // Four keys, a blocked store, an erased store, a quota.
      if (args[1] === 'republish') expect(said).toMatch(/production +4 +2 +1 +1\b/);
    }
    await makeKey('new', 's1');
    await expectHealthy();

    // MongoDB is lost, too, without a backup.
    await stopServices();
    const former = mongodb;
    mongodb = await startReplicaSet(1);
    await former.close();
    env['MONGODB_URI'] = mongodb.uri;
    query = await startApp(readConfig(env));
    await startTheProjector();
    for (const { args } of documentedCommands('recovery.md', 'MongoDB is lost')) {
      if (args[0] === 'lag') await untilApplied();
      await run(args);
    }
    await expectHealthy();
  },
);
