/**
 * Each process has its own user with no more than the required privileges (docs/deploying.md); that
 * they suffice is shown by `test/faults/secured.fault.test.ts`.
 */
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import { readConfig } from '#shared/config.ts';
import { createKafka, createProducer } from '#shared/kafka/client.ts';
import { createLogger } from '#shared/logging.ts';
import { createRedis } from '#shared/redis.ts';
import { orderMessage } from '#test/events.ts';
import { useMade } from '#test/hooks.ts';
import { PATIENCE } from '#test/patience.ts';
import { killAll, type ServiceProcess, startService } from '#test/service-process.ts';
import { expectRefused, runCommand, runJson } from '../services/admin/run-command.ts';
import {
  asDataUser,
  asKafkaUser,
  type KafkaUser,
  makeMongodbUsers,
  PASSWORD,
  startPrivilegedServers,
} from './privileges.ts';

const servers = useMade(startPrivilegedServers);
let env: Record<string, string>;
let operator: Record<string, string>;
const services: ServiceProcess[] = [];

beforeAll(async () => {
  env = {
    ...servers.env,
    ...PATIENCE,
    ENVIRONMENTS: 'production',
    QUERY_PORT: '0',
    OPERATIONS_PORT: '0',
    SIGNING_KEYS: JSON.stringify({ keys: [await newSigningKey()] }),
  };
  operator = {
    ...env,
    ...asKafkaUser('store-data-operator'),
    ...asDataUser('store-data-projector'),
  };
  const administrator = { ...operator, ...asKafkaUser('store-data-administrator'), REDIS_URL: '' };
  await runJson(administrator, 'prepare --partitions 2');
  const asProjector = asKafkaUser('store-data-projector');
  const projector = startService('projector', { ...operator, ...asProjector });
  services.push(projector);
  await projector.logged(({ msg }) => msg === 'projector started');
});
afterAll(() => killAll(services));

/** Sends as a Kafka user. @returns the reason of a refusal. */
async function send(user: KafkaUser, topic: string): Promise<string> {
  const config = readConfig({ ...env, ...asKafkaUser(user) });
  const kafka = createKafka(config, 'test', createLogger('test', 'silent'));
  const producer = createProducer(kafka);
  await producer.connect();
  try {
    await producer.send({ topic, messages: ['o1', 'o2'].map((id) => orderMessage(id)) });
    return 'sent';
  } catch (error) {
    return String(error);
  } finally {
    await producer.disconnect();
  }
}

describe('with the privileges of deploy/privileges', () => {
  it('a publisher without a user of MongoDB publishes, and does not say what is outdated', async () => {
    const publisher = { ...env, ...asKafkaUser('store-data-publisher') };
    expect(await runJson(publisher, 'publish -', orderMessage('o1').value)).toMatchObject({
      sent: 1,
      outdated: null,
    });
  });

  it('a command names the operation that its user may not do, and the privilege that it needs', async () => {
    await runJson(operator, 'keys create --store s1 --scopes order');
    await runJson(operator, 'rebuild');
    const asProjector = { ...operator, ...asKafkaUser('store-data-projector') };
    await expectRefused(
      runCommand(asProjector, 'generations drop 1 --yes'),
      /^store-data: not authorized by Kafka: .*group/,
    );
    const asQuery = { ...operator, ...asDataUser('store-data-query') };
    await expectRefused(
      runCommand(asQuery, 'keys create --store s2 --scopes order'),
      /store-data: not authorized by MongoDB: not authorized on store_data_control/,
    );
  });

  it('mongodb.js is idempotent', async () => {
    const { MONGODB_URI: uri = '', MONGODB_TLS_CA_FILE: ca = '' } = servers.env;
    expect(await makeMongodbUsers(uri, ca)).toEqual([
      'updateRole',
      'updateRole',
      'updateUser',
      'updateUser',
    ]);
  });

  it('the query service’s user of MongoDB cannot write', async () => {
    const auth = { username: 'store-data-query', password: PASSWORD };
    const { MONGODB_URI: uri = '', MONGODB_TLS_CA_FILE: tlsCAFile = '' } = servers.env;
    await using client = new MongoClient(uri, { tls: true, tlsCAFile, auth });
    const keys = client.db('store_data_control').collection('access_keys');
    expect(await keys.countDocuments()).toBe(1);
    for (const write of [
      () => keys.insertOne({}),
      () => keys.updateMany({}, { $set: { status: 'active' } }),
      () => keys.deleteMany({}),
      () => client.db('store_data_control').dropDatabase(),
      () => client.db('admin').command({ createUser: 'mallory', pwd: 'x', roles: [] }),
    ]) {
      await expect(write()).rejects.toThrow(/not authorized/);
    }
  });

  it('only the publisher can write changes, and it can write nothing else', async () => {
    const refused = /TOPIC_AUTHORIZATION|Not authorized|does not have.*access/i;
    expect(await send('store-data-projector', 'store-changes.production')).toMatch(refused);
    expect(await send('store-data-operator', 'store-changes.production')).toMatch(refused);
    expect(await send('store-data-publisher', 'store-access.production')).toMatch(refused);
    expect(await send('store-data-projector', 'store-access.production')).toMatch(refused);
  });

  it.each(['store-data-query', 'store-data-projector'] as const)(
    'in Redis %s can connect, and can neither empty nor configure it, nor read other keys',
    async (username) => {
      const config = readConfig({ ...env, ...asDataUser(username) });
      const client = createRedis(config, { away: () => undefined });
      const login = { username: 'store-data-administrator', password: PASSWORD };
      const administrator = new Redis(servers.env['REDIS_URL'] ?? '', login);
      try {
        await client.ready(20_000);
        const redis = client.find('')?.redis;
        expect(String(await administrator.call('ACL', 'LOG'))).not.toContain(username);
        for (const command of ['FLUSHALL', 'CONFIG GET *', 'KEYS *', 'ACL LIST', 'GET others']) {
          const [name = '', ...words] = command.split(' ');
          await expect(redis?.call(name, ...words)).rejects.toThrow(/NOPERM/);
        }
      } finally {
        client.disconnect();
        administrator.disconnect();
      }
    },
  );
});
