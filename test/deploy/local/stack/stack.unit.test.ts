/** The local stack without its servers: folders, ports, logs, sources and settings. */
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cacheFolder, requirePlatform } from '#local/stack/fetch.ts';
import { claimFolder, dataFolderAt } from '#local/stack/part.ts';
import { startStack } from '#local/stack/stack.ts';
import { useFolder } from '#test/folder.ts';

const path = useFolder({ ofEachTest: true });

test('a start names a folder that cannot be made, and the option that selects another one', async () => {
  const below = dataFolderAt(join(path, 'file', 'folder'));
  writeFileSync(join(path, 'file'), '');
  await expect(claimFolder(below, process.pid)).rejects.toThrow(
    /ENOTDIR.*: npm start -- --folder <path>/,
  );
});

test('a claim of a folder ignores an owner that died, or a later process with its id', async () => {
  const folder = dataFolderAt(path);
  const dead = { pid: spawnSync('true').pid, started: '1' };
  const former = join(path, 'owner-1.json');
  writeFileSync(former, JSON.stringify({ owner: dead, guardian: dead }));
  await claimFolder(folder, process.pid);
  expect(existsSync(former)).toBe(false);
  const earlier = { pid: process.pid, started: '1' };
  writeFileSync(folder.ownerFile, JSON.stringify({ owner: earlier, guardian: dead }));
  await claimFolder(folder, process.pid);
});

test('a stack refuses to keep the data of a cluster before it starts any server', async () => {
  const kept = { dataFolder: '/x', keepData: true, topology: 'cluster' } as const;
  await expect(startStack({ ...kept, log: () => undefined })).rejects.toThrow(
    'a cluster does not keep its data',
  );
});

test.each([
  [{ STACK_SOURCE: 'docker' }, 'STACK_SOURCE is docker, and may be address, container, program'],
  [{ STACK_TOPOLOGY: 'many' }, 'the topology (STACK_TOPOLOGY) is many, and may be single, cluster'],
])('of %j it says what is allowed', async (env, message) => {
  await expect(startStack({ dataFolder: '/x', env, log: () => undefined })).rejects.toThrow(
    message,
  );
});

test('a stack says what to do on an unsupported platform', () => {
  expect(() => requirePlatform('linux', 'x64')).not.toThrow();
  expect(() => requirePlatform('darwin', 'arm64')).toThrow(
    /darwin on arm64.*Docker.*KAFKA_BROKERS/,
  );
  expect(() => requirePlatform('linux', 'arm64')).toThrow(/linux on arm64/);
});

test('the cache is in STORE_DATA_CACHE, otherwise in the cache folder of the user', () => {
  expect(cacheFolder({ STORE_DATA_CACHE: '/own', XDG_CACHE_HOME: '/xdg' })).toBe('/own');
  expect(cacheFolder({ STORE_DATA_CACHE: '', XDG_CACHE_HOME: '/xdg' })).toBe('/xdg/store-data');
  expect(cacheFolder({})).toBe(`${homedir()}/.cache/store-data`);
});
