/** `npm start` without its servers: options, files and keys. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keySeed, makeKeys, prepareSigningKey } from '#local/start/files.ts';
import { readOptions } from '#local/start/options.ts';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { readConfig } from '#shared/config.ts';
import { useFolder } from '#test/folder.ts';
import { words } from '#test/words.ts';

const folder = useFolder({ ofEachTest: true });

const modeOf = (path: string) => statSync(path).mode & 0o777;

test('makes a signing key that the query service accepts, and keeps it only if data is kept', async () => {
  const path = await prepareSigningKey(folder, false);
  expect(modeOf(path)).toBe(0o600);
  const servers = { KAFKA_BROKERS: 'x:1', MONGODB_URI: 'mongodb://x', REDIS_URL: 'redis://x' };
  const { tokens } = readConfig({ ...servers, SIGNING_KEYS_FILE: path });
  const kid = async () => (await loadSigningKeys(tokens)).signing.kid;
  const first = await kid();
  await prepareSigningKey(folder, true);
  expect(await kid()).toBe(first);
  await prepareSigningKey(folder, false);
  expect(await kid()).not.toBe(first);
});

test('keys are the same in every run of a user, and different for another user', async () => {
  const cache = join(folder, 'cache');
  const clientOf = async (of: string) =>
    makeKeys(['s1'], ['production'], await keySeed(of))[0]?.client_id;
  const first = await clientOf(cache);
  expect(await clientOf(cache)).toBe(first);
  expect(modeOf(join(cache, 'demo-keys-seed'))).toBe(0o600);
  expect(await clientOf(join(folder, 'other'))).not.toBe(first);
  // Keys exist even if the folder cannot be written.
  writeFileSync(join(folder, 'file'), '');
  expect(await keySeed(join(folder, 'file/cache'))).toMatch(/^[A-Za-z0-9]{58}$/);
});

test('options have defaults, and bounds', () => {
  expect(readOptions([])).toMatchObject({ stores: 5, traffic: true, keepData: false });
  const given = words('--stores 7 --no-traffic --quota 50 --port 9000 --keep-data --folder /tmp/x');
  expect(readOptions(given)).toMatchObject({
    stores: 7,
    traffic: false,
    quota: 50,
    port: 9000,
    keepData: true,
    folder: '/tmp/x',
  });
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.spyOn(process, 'exit').mockImplementation(() => {
    throw new Error('ended');
  });
  onTestFinished(() => void vi.restoreAllMocks());
  expect(() => readOptions(['--port', '65536'])).toThrow('ended');
  expect(said.mock.calls.join()).toContain('whole number from 0 to 65535');
});
