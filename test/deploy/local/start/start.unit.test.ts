/** `npm start` without its servers: options, files, keys, figures, the screen. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { type ProjectorFigures, LiveView, type Moment } from '#local/start/figures.ts';
import { keySeed, makeKeys, prepareSigningKey } from '#local/start/files.ts';
import { readOptions } from '#local/start/options.ts';
import { createScreen, type Output } from '#local/start/screen.ts';
import { loadSigningKeys } from '#query/access/tokens.ts';
import { readConfig } from '#shared/config.ts';
import { useFolder } from '#test/folder.ts';
import { testTerminal } from '#test/terminal.ts';

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

/** A histogram in which nine of ten values are at most 0.1, the others at most 1. */
const values = (count: number) =>
  new Map([
    [0.1, Math.round(count * 0.9)],
    [1, count],
    [Infinity, count],
  ]);

const state = (applied: number, rest: Partial<ProjectorFigures> = {}): ProjectorFigures => ({
  applied,
  deadLetters: 0,
  lag: 0,
  freshness: values(applied),
  ...rest,
});

const moment = (
  applied: number,
  requests: number,
  rest: Partial<ProjectorFigures> = {},
): Moment => ({
  projector: state(applied, rest),
  answers: values(requests),
  orders: new Map([
    ['pending', 3],
    ['concluded', 12_345],
  ]),
});

const nothing: Moment = { projector: null, answers: null, orders: null };

test('then every figure, in fixed lines of at most 80 columns', () => {
  const view = new LiveView(5, 0);
  for (let second = 0; second <= 30; second += 1)
    view.take(moment(second * 100, second * 4), second * 1_000);
  const lines = view.panel(30_000);
  expect(lines).toEqual([
    ' 5 stores · 12,348 orders · backlog 0 · 0 dead letters · 0:30',
    ' pending         3  confirmed       0  preparing       0  ready           0',
    ' dispatched      0  delivered       0  concluded  12,345  cancelled       0',
    ' events       100/s ████████████████████  freshness p50 56 ms  p99 910 ms',
    ' requests       4/s ████████████████████  answers   p50 56 ms  p99 910 ms',
  ]);
  view.take(moment(3_050, 120), 31_000);
  expect(view.panel(31_000)[3]).toContain(' 90/s ███████████████████▅  ');
  for (const busy of [
    moment(9_999_999, 9_999_999, { deadLetters: 12_345, lag: 9_999_999 }),
    nothing,
  ]) {
    view.take(busy, 3_600_000);
    const widths = view.panel(3_600_000).map(({ length }) => length);
    expect(widths).toHaveLength(lines.length);
    expect(Math.max(...widths)).toBeLessThan(80);
  }
});

test('names a service that does not answer, and problems', () => {
  const view = new LiveView(5, 0);
  view.take(nothing, 0);
  const silent = view.panel(0).join('\n');
  for (const what of ['MongoDB', 'the projector', 'the query service'])
    expect(silent).toContain(`${what} does not answer`);
  view.take(moment(5, 0, { deadLetters: 2, lag: null }), 0);
  expect(view.panel(0)[0]).toContain(' · backlog unknown · 2 dead letters · ');
});
