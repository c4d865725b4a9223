/** The screen: lines that change in place on a terminal, plain lines now and then elsewhere. */
import { expect, test } from 'vitest';
import { createScreen, type Output } from '#local/start/screen.ts';
import { testTerminal } from '#test/terminal.ts';

const block = ['first', 'second'];

test('on a terminal what changes stays below the lines, however many it is', async () => {
  const terminal = testTerminal(20, 8);
  const screen = createScreen(terminal.output);
  screen.live('starting');
  for (const line of block) screen.line(line);
  expect(await terminal.rows()).toEqual([...block, 'starting']);
  screen.live('', []);
  expect(await terminal.rows()).toEqual(block);
  screen.live('one line', ['a 1', 'b 1', 'c 1']);
  screen.live('one line', ['a 2', 'b 2', 'c 2']);
  expect(await terminal.rows()).toEqual([...block, 'a 2', 'b 2', 'c 2']);
  screen.line('third');
  expect(await terminal.rows()).toEqual([...block, 'third', 'a 2', 'b 2', 'c 2']);
  screen.live('short');
  screen.line('the end');
  screen.live('');
  expect(await terminal.rows()).toEqual([...block, 'third', 'the end']);
});

test('a terminal that is made narrower or wider shows each line once', async () => {
  const terminal = testTerminal(20, 12);
  const screen = createScreen(terminal.output);
  for (const line of block) screen.line(line);
  const lines = ['a'.repeat(30), 'b'.repeat(15), 'c'];
  screen.live('one line', lines);
  expect(await terminal.rows()).toEqual([...block, 'a'.repeat(19), 'b'.repeat(15), 'c']);
  terminal.resize(8, 12);
  expect(await terminal.rows()).toEqual([...block, 'aaaaaaa', 'bbbbbbb', 'c']);
  terminal.resize(40, 12);
  expect(await terminal.rows()).toEqual([...block, ...lines]);
});

test('what does not fit a low terminal is left out, and nothing is shown twice', async () => {
  const terminal = testTerminal(20, 4);
  const screen = createScreen(terminal.output);
  for (const line of block) screen.line(line);
  for (const time of [1, 2, 3])
    screen.live(
      '',
      ['a', 'b', 'c', 'd', 'e'].map((name) => `${name} ${time}`),
    );
  for (const time of [1, 2, 3])
    screen.live(
      'x',
      ['a', 'b', 'c', 'd', 'e'].map((name) => `${name} ${time}`),
    );
  expect(await terminal.rows()).toEqual(['a 3', 'b 3', 'c 3']);
});

test.each([
  ['elsewhere', false, false],
  ['on a terminal that is to stay plain', true, true],
])('%s a plain line is written every few seconds', (_, isTTY, isPlain) => {
  const written: string[] = [];
  const output = { isTTY, write: (text: string) => written.push(text) > 0 } as unknown as Output;
  let now = 0;
  const screen = createScreen(output, isPlain, () => now);
  for (; now <= 10_000; now += 1_000) screen.live(`after ${now}`, ['not', 'shown']);
  screen.live('');
  screen.line('for good');
  expect(written.join('')).toBe('after 0\nafter 5000\nafter 10000\nfor good\n');
});
