/** `npm start` without its servers: options, files, keys, figures, the screen. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { keySeed, makeKeys, prepareSigningKey } from '#local/start/files.ts';
import { readOptions } from '#local/start/options.ts';
import { createScreen, type Output } from '#local/start/screen.ts';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { readConfig } from '#shared/config.ts';
import { useFolder } from '#test/folder.ts';
import { testTerminal } from './terminal.ts';

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

const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
afterEach(() => vi.clearAllMocks());

test('options have defaults', () => {
  const defaults = {
    stores: 5,
    history: 200,
    ordersPerMinute: 60,
    traffic: true,
  };
  expect(readOptions([])).toMatchObject({
    options: { ...defaults, keepData: false, plain: false },
  });
  const given = {
    stores: 7,
    traffic: false,
    quota: 50,
    port: 9000,
    keepData: true,
    folder: '/tmp/x',
  };
  const words = '--stores 7 --no-traffic --quota 50 --port 9000 --keep-data --folder /tmp/x';
  expect(readOptions(words.split(' '))).toMatchObject({ options: given });
});

test.each([
  [['--stores', '0'], 'whole number from'],
  [['--history', '1.5'], 'whole number from'],
  [['--port', '65536'], 'whole number from'],
  [['--nope'], 'unknown option'],
])('%j is refused with the reason', (words, reason) => {
  expect(readOptions(words)).toEqual({ exitCode: 2 });
  expect(String(written.mock.calls[0]?.[0])).toContain(reason);
});

const block = ['first', 'second'];

test('on a terminal the status lines stay below the log lines, however many there are', async () => {
  const terminal = testTerminal(20, 8);
  const screen = createScreen(terminal.output);
  screen.live(['starting']);
  for (const line of block) screen.line(line);
  expect(await terminal.rows()).toEqual([...block, 'starting']);
  screen.live([]);
  expect(await terminal.rows()).toEqual(block);
  screen.live(['a 1', 'b 1', 'c 1']);
  screen.live(['a 2', 'b 2', 'c 2']);
  expect(await terminal.rows()).toEqual([...block, 'a 2', 'b 2', 'c 2']);
  screen.line('third');
  expect(await terminal.rows()).toEqual([...block, 'third', 'a 2', 'b 2', 'c 2']);
  screen.live(['short']);
  screen.line('the end');
  screen.live([]);
  expect(await terminal.rows()).toEqual([...block, 'third', 'the end']);
});

test('a resized terminal shows each line once', async () => {
  const terminal = testTerminal(20, 12);
  const screen = createScreen(terminal.output);
  for (const line of block) screen.line(line);
  const lines = ['a'.repeat(30), 'b'.repeat(15), 'c'];
  screen.live(lines);
  expect(await terminal.rows()).toEqual([...block, 'a'.repeat(19), 'b'.repeat(15), 'c']);
  terminal.resize(8, 12);
  expect(await terminal.rows()).toEqual([...block, 'aaaaaaa', 'bbbbbbb', 'c']);
  terminal.resize(40, 12);
  expect(await terminal.rows()).toEqual([...block, ...lines]);
});

test('a terminal that does not know its size is written as one of 80 columns and 24 rows', async () => {
  const terminal = testTerminal(80, 24);
  const screen = createScreen({ ...terminal.output, columns: 0, rows: 0 });
  const lines = ['a'.repeat(90), 'b'];
  for (let time = 0; time < 3; time += 1) screen.live(lines);
  expect(await terminal.rows()).toEqual(['a'.repeat(79), 'b']);
});

test.each([
  ['elsewhere', false, false],
  ['on a terminal that is to stay plain', true, true],
])('%s a plain line is written every few seconds', (_, isTTY, isPlain) => {
  const written: string[] = [];
  const output = { isTTY, write: (text: string) => written.push(text) > 0 } as unknown as Output;
  let now = 0;
  const screen = createScreen(output, isPlain, () => now);
  for (; now <= 10_000; now += 1_000) screen.live([`after ${now}`, 'and more']);
  screen.live([]);
  screen.line('for good');
  expect(written.join('')).toBe(
    'after 0\nand more\nafter 5000\nand more\nafter 10000\nand more\nfor good\n',
  );
});
