/** Options: what is left out has its default, and what is wrong ends with exit code 2. */
import { isAbsolute } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { readOptions } from '#local/start/options.ts';

const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
const shown = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
afterEach(() => vi.clearAllMocks());

test('has defaults for everything', () => {
  const read = readOptions([]);
  expect(read).toMatchObject({
    options: {
      stores: 5,
      history: 200,
      ordersPerMinute: 60,
      traffic: true,
      quota: null,
      port: null,
      keepData: false,
      plain: false,
    },
  });
  expect('options' in read && isAbsolute(read.options.folder) && read.options.folder.endsWith('.local')).toBe(
    true,
  );
});

test('reads every option', () => {
  const args =
    '--stores 7 --history 0 --orders-per-minute 600 --no-traffic --quota 50 --port 9000 --keep-data --plain --folder /tmp/x';
  expect(readOptions(args.split(' '))).toEqual({
    options: {
      stores: 7,
      history: 0,
      ordersPerMinute: 600,
      traffic: false,
      quota: 50,
      port: 9000,
      keepData: true,
      plain: true,
      folder: '/tmp/x',
    },
  });
});

test.each([
  ['--stores', '0'],
  ['--stores', 'many'],
  ['--stores', '1e3'],
  ['--history', '-1'],
  ['--history', '1.5'],
  ['--orders-per-minute', ''],
  ['--quota', '0'],
  ['--quota', '+5'],
  ['--port', '65536'],
])('refuses %s %j, and says what is allowed', (option, value) => {
  expect(readOptions([option, value])).toEqual({ exitCode: 2 });
  expect(String(written.mock.calls[0]?.[0])).toContain('whole number from');
});

test.each([['--nope'], ['extra'], ['--stores']])('refuses %s', (argument) => {
  expect(readOptions([argument])).toEqual({ exitCode: 2 });
});

test('shows help', () => {
  expect(readOptions(['--help'])).toEqual({ exitCode: 0 });
  const help = shown.mock.calls.map(([text]) => String(text)).join('');
  for (const option of [
    '--stores',
    '--history',
    '--orders-per-minute',
    '--no-traffic',
    '--quota',
    '--port',
    '--keep-data',
    '--plain',
  ]) {
    expect(help).toContain(option);
  }
});
