/**
 * The API that tests of other projects start: it explains wrong fixtures, and leaves nothing in
 * existing servers.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MongoClient } from 'mongodb';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { connectStoreData, startStoreData } from '../../../deploy/testing/index.ts';
import { eventually } from '#test/eventually.ts';
import type { StoreData } from '../../../deploy/testing/api.d.ts';

const run = promisify(execFile);
const CATEGORY = { name: 'Pizzas', position: 1, active: true };
const servers = {
  kafka: new kafkajs.Kafka({ brokers: process.env['KAFKA_BROKERS']?.split(',') ?? [] }).admin(),
  mongodb: new MongoClient(process.env['MONGODB_URI'] ?? ''),
};
let api: StoreData;

beforeAll(async () => {
  // Otherwise it would start containers if the test servers are containers.
  vi.stubEnv('STACK_SOURCE', '');
  await servers.kafka.connect();
  api = await startStoreData({
    fixtures: [{ entity: 'category', id: 'c1', data: CATEGORY }],
    settings: { QUOTA_REQUESTS: '7' },
  });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await servers.kafka.disconnect();
  await servers.mongodb.close();
});

async function categories(of: StoreData): Promise<Response> {
  const token = await of.token(await of.createKey({ scopes: ['menu'] }));
  return fetch(`${of.url}/api/category/list`, { headers: { authorization: `Bearer ${token}` } });
}

it('`publish` sends no change if one is not a valid event, and says which one and why', async () => {
  const wrong = { entity: 'category' as const, id: 'c3', data: { name: 'Bebidas', active: true } };
  const changes = [{ entity: 'category' as const, id: 'c2', data: CATEGORY }, wrong];
  await expect(api.publish(changes)).rejects.toThrow(
    /^change 2 \(category c3\) is not an event: .*position/,
  );
  expect(await (await categories(api)).json()).toMatchObject({ count: 1, results: [{ id: 'c1' }] });
});

it('a started API can be reached from another process by its description, and has the given settings', async () => {
  const other = await connectStoreData(
    JSON.parse(JSON.stringify(api.connection)) as StoreData['connection'],
  );
  await other.publish([{ entity: 'category', id: 'c1' }]);
  await other.stop();
  const answer = await categories(api);
  expect(await answer.json()).toMatchObject({ count: 0 });
  expect(answer.headers.get('ratelimit-policy')).toBe('"store";q=7;w=60');
});

it('`connectStoreData` leaves no connection open if a server cannot be reached', async () => {
  const settings = {
    ...api.connection.settings,
    MONGODB_USERNAME: 'nobody',
    MONGODB_PASSWORD: 'wrong',
  };
  const connection = { ...api.connection, settings };
  const module = new URL('../../../deploy/testing/index.ts', import.meta.url).href;
  const program = `
    const { connectStoreData } = await import(${JSON.stringify(module)});
    await connectStoreData(${JSON.stringify(connection)}).catch((error) => console.log(error.message));
  `;
  // The process would not end while a connection is open.
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    timeout: 240_000,
  });
  expect(stdout).toBe('Authentication failed.\n');
});

it('`stop` leaves no topics, consumer groups or databases in existing servers', async () => {
  const { environment, settings } = api.connection;
  const prefix = settings['NAME_PREFIX'] ?? '';
  const names = async () => {
    const { databases } = await servers.mongodb.db().admin().listDatabases({ nameOnly: true });
    const { groups } = await servers.kafka.listGroups();
    return [
      ...(await servers.kafka.listTopics()),
      ...groups.map(({ groupId }) => groupId),
      ...databases.map(({ name }) => name),
    ].filter((name) => name.includes(environment) || name.startsWith(prefix));
  };
  expect(await names()).toEqual(
    expect.arrayContaining([
      `store-changes.${environment}`,
      `${prefix}.${environment}.g1`,
      `${prefix}.${environment}.access`,
      `${prefix}_control`,
    ]),
  );
  await api.stop();
  expect(await names()).toEqual([]);
});

it('a started API leaves nothing in the temporary folder when its process is interrupted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-interrupted-'));
  const module = new URL('../../../deploy/testing/index.ts', import.meta.url).href;
  const program = `
    const { startStoreData } = await import(${JSON.stringify(module)});
    await startStoreData();
    console.log('started');
    setInterval(() => undefined, 1_000);`;
  try {
    const env = { ...process.env, TMPDIR: folder };
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { env });
    await once(child.stdout, 'data');
    expect(await readdir(folder)).toHaveLength(1);
    child.kill('SIGINT');
    await once(child, 'exit');
    await eventually('the folder is empty', async () => (await readdir(folder)).length === 0);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
