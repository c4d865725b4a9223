/** `npm start` without its servers: options, files, keys, figures, the screen. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { keySeed, makeKeys, prepareSigningKey } from '#local/start/files.ts';
import { readOptions } from '#local/start/options.ts';
import { createScreen, type Output } from '#local/start/screen.ts';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { readConfig } from '#shared/config.ts';
import { useFolder } from '#test/folder.ts';

const folder = useFolder({ ofEachTest: true });

const modeOf = (path: string) => statSync(path).mode & 0o777;

test('makes a signing key that the query service accepts, and keeps it only if data is kept', async () => {
  const path = await prepareSigningKey(folder, false);
  expect(modeOf(path)).toBe(0o600);
  const config = readConfig({
    KAFKA_BROKERS: 'x:1',
    MONGODB_URI: 'mongodb://x',
    REDIS_URL: 'redis://x',
    SIGNING_KEYS_FILE: path,
  });
  const { kid } = (await loadSigningKeys(config.tokens)).signing;
  await prepareSigningKey(folder, true);
  expect((await loadSigningKeys(config.tokens)).signing.kid).toBe(kid);
  await prepareSigningKey(folder, false);
  expect((await loadSigningKeys(config.tokens)).signing.kid).not.toBe(kid);
});

test('keys are the same in every run of a user, and different for another user', async () => {
  const cache = join(folder, 'cache');
  const seed = await keySeed(cache);
  expect(await keySeed(cache)).toBe(seed);
  expect(statSync(join(cache, 'demo-keys-seed')).mode & 0o777).toBe(0o600);
  expect(makeKeys(['s1'], ['production'], seed)).toEqual(makeKeys(['s1'], ['production'], seed));
  const other = await keySeed(join(folder, 'other'));
  expect(makeKeys(['s1'], ['production'], other)[0]?.client_id).not.toBe(
    makeKeys(['s1'], ['production'], seed)[0]?.client_id,
  );
  // Keys exist even if the folder cannot be written.
  writeFileSync(join(folder, 'file'), '');
  expect(await keySeed(join(folder, 'file/cache'))).toMatch(/^[A-Za-z0-9]{58}$/);
});

test('options have defaults, and bounds', () => {
  expect(readOptions([])).toMatchObject({ stores: 5, traffic: true, keepData: false });
  const words = '--stores 7 --no-traffic --quota 50 --port 9000 --keep-data --folder /tmp/x';
  expect(readOptions(words.split(' '))).toMatchObject({
    stores: 7,
    traffic: false,
    quota: 50,
    port: 9000,
    keepData: true,
    folder: '/tmp/x',
  });
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.spyOn(process, 'exit').mockImplementation(() => {
    throw new Error('ended');
  });
  expect(() => readOptions(['--port', '65536'])).toThrow('ended');
  expect(String(written.mock.calls[0]?.[0])).toContain('whole number from 0 to 65535');
  vi.restoreAllMocks();
});

test('on a terminal the status lines stay below the log lines', () => {
  const written: string[] = [];
  const output = { isTTY: true, write: (text: string) => written.push(text) > 0 } as Output;
  const screen = createScreen(output);
  screen.live(['a 1', 'b 1']);
  screen.line('log');
  expect(written).toEqual(['a 1\nb 1\n', '\r\u001B[2A\u001B[Jlog\na 1\nb 1\n']);
  // A terminal that does not know its size is written as one of 80 columns.
  createScreen({ ...output, columns: 0, rows: 0 }).live(['a'.repeat(90)]);
  expect(written.slice(2)).toEqual([`${'a'.repeat(79)}\n`]);
});

test.each([
  ['elsewhere', false, false],
  ['on a terminal that is to stay plain', true, true],
])('%s a plain line is written every few seconds', (_, isTTY, isPlain) => {
  const written: string[] = [];
  const output = { isTTY, write: (text: string) => written.push(text) > 0 } as Output;
  let now = 0;
  const screen = createScreen(output, isPlain, () => now);
  for (; now <= 10_000; now += 1_000) screen.live([`after ${now}`, 'and more']);
  screen.live([]);
  screen.line('for good');
  expect(written.join('')).toBe(
    'after 0\nand more\nafter 5000\nand more\nafter 10000\nand more\nfor good\n',
  );
});
