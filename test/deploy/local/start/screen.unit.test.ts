/** The screen: one line that changes in place on a terminal, plain lines now and then elsewhere. */
import { expect, test } from 'vitest';
import { createScreen } from '#local/start/screen.ts';

function recorder(terminal: Partial<{ isTTY: boolean; columns: number }>) {
  const written: string[] = [];
  const output = {
    ...terminal,
    write(text: string | Uint8Array) {
      written.push(String(text));
      return true;
    },
  };
  return { output, text: () => written.join('') };
}

test('on a terminal the changing line is cleared, drawn again below lines, and never wraps', () => {
  const { output, text } = recorder({ isTTY: true, columns: 10 });
  const screen = createScreen(output);
  screen.live('one');
  screen.line('for good');
  screen.live('much longer than ten columns');
  expect(text()).toBe('\r\u001B[2Kone\r\u001B[2Kfor good\none\r\u001B[2Kmuch long');
});

test('elsewhere it writes a plain line every few seconds', () => {
  const { output, text } = recorder({});
  let now = 0;
  const screen = createScreen(output, () => now);
  for (; now <= 10_000; now += 1_000) screen.live(`after ${now}`);
  screen.live('');
  screen.line('for good');
  expect(text()).toBe('after 0\nafter 5000\nafter 10000\nfor good\n');
});
