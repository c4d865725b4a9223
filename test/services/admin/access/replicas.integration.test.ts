import { afterAll, beforeAll, expect, it } from 'vitest';
import { createControlIndexes } from '#shared/access/access-keys.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { type RedisProcess, startRedisProcess } from '#test/redis-process.ts';
import { followsItsMaster } from '#test/redis-sentinels.ts';
import { runCommand } from '../run-command.ts';

let primary: RedisProcess;
let replica: RedisProcess;
let installation: Installation;

beforeAll(async () => {
  [primary, replica] = await Promise.all([startRedisProcess(), startRedisProcess()]);
  installation = await createInstallation({ settings: { REDIS_URL: primary.url } });
  installation.redis.on('error', () => undefined);
  await createControlIndexes(installation.databases.control);
});
afterAll(async () => {
  await installation?.close();
  await primary?.close();
  await replica?.close();
});

it('what takes rights away says how many replicas have it, where there are any', async () => {
  const block = (storeId: string) =>
    runCommand(installation.env, ['stores', 'block', storeId, '-e', installation.environment]);
  expect((await block('s1')).stderr).not.toContain('replicas');

  await replica.client.replicaof('127.0.0.1', String(primary.port));
  await followsItsMaster(replica);
  const { code, stderr } = await block('s2');
  expect(code).toBe(0);
  expect(stderr).toContain('note: 1 of 1 replicas of Redis have it\n');
});
