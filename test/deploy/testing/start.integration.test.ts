/**
 * The API that tests of other projects start: it explains wrong fixtures, and leaves nothing in
 * existing servers.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { MongoClient } from 'mongodb';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { connectStoreData, startStoreData } from '../../../deploy/testing/index.ts';
import { MINIMAL } from '#test/changes.ts';
import { eventually } from '#test/eventually.ts';
import { useFolder } from '#test/folder.ts';
import { run } from '#test/run.ts';
import type { StoreData } from '../../../deploy/testing/api.d.ts';

const MODULE = new URL('../../../deploy/testing/index.ts', import.meta.url).href;
const category = (id: string) => ({ entity: 'category' as const, id, data: MINIMAL.category });
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
    fixtures: [category('c1')],
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
  const wrong = { ...category('c3'), data: { name: 'Bebidas', active: true } };
  await expect(api.publish([category('c2'), wrong])).rejects.toThrow(
    /^change 2 \(category c3\) is not an event: .*position/,
  );
  expect(await (await categories(api)).json()).toMatchObject({ count: 1, results: [{ id: 'c1' }] });
});

it('a started API can be reached from another process by its description, and has the given settings', async () => {
  const description = JSON.stringify(api.connection);
  const other = await connectStoreData(JSON.parse(description) as StoreData['connection']);
  await other.publish([{ entity: 'category', id: 'c1' }]);
  await other.stop();
  const answer = await categories(api);
  expect(await answer.json()).toMatchObject({ count: 0 });
  expect(answer.headers.get('ratelimit-policy')).toBe('"store";q=7;w=60');
});

it('`connectStoreData` leaves no connection open if a server cannot be reached', async () => {
  const { settings } = api.connection;
  const connection = {
    ...api.connection,
    settings: { ...settings, MONGODB_USERNAME: 'nobody', MONGODB_PASSWORD: 'wrong' },
  };
  const program = `
    const { connectStoreData } = await import(${JSON.stringify(MODULE)});
    await connectStoreData(${JSON.stringify(connection)}).catch((error) => console.log(error.message));
  `;
  // The process would not end while a connection is open.
  const args = ['--input-type=module', '--eval', program];
  const said = await run(process.execPath, args, { timeout: 240_000 });
  expect(said).toBe('Authentication failed.\n');
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

const folder = useFolder();

it('a started API leaves nothing in the temporary folder when its process is interrupted', async () => {
  const program = `
    const { startStoreData } = await import(${JSON.stringify(MODULE)});
    await startStoreData();
    console.log('started');
    setInterval(() => undefined, 1_000);`;
  const env = { ...process.env, TMPDIR: folder };
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { env });
  await once(child.stdout, 'data');
  expect(await readdir(folder)).toHaveLength(1);
  child.kill('SIGINT');
  await once(child, 'exit');
  await eventually('the folder is empty', async () => (await readdir(folder)).length === 0);
});
