/** What `npm start` shows: lines, and below them some that change in place on a terminal. */
import type { WriteStream } from 'node:tty';

/** Where lines go; standard output as a rule. */
export type Output = Pick<WriteStream, 'write' | 'on'> & { isTTY?: boolean; columns?: number; rows?: number };

export interface Screen {
  /** Writes a line for good. */
  line: (text: string) => void;
  /** Shows changing lines; without a terminal one line in their place, every few seconds. Empty text shows nothing. */
  live: (text: string, lines?: readonly string[]) => void;
}

const PLAIN_INTERVAL_MS = 5_000;
/** A terminal that knows these shows all between them at once. */
const [BEGIN, END] = ['\u001B[?2026h', '\u001B[?2026l'];

/** A screen on an output; a plain one changes nothing in place, whatever the output is. */
export function createScreen(output: Output, isPlain = false, now: () => number = Date.now): Screen {
  return output.isTTY === true && !isPlain ? terminal(output) : plain(output, now);
}

function terminal(output: Output): Screen {
  let wanted: readonly string[] = [];
  let drawn: readonly string[] = [];
  const columns = () => output.columns ?? 80;
  // What was drawn before the terminal became narrower takes more rows now.
  const erase = () => {
    const rows = drawn.reduce((sum, { length }) => sum + Math.max(1, Math.ceil(length / columns())), 0);
    return rows === 0 ? '' : `\r\u001B[${rows}A\u001B[J`;
  };
  const draw = (line = '') => {
    const before = erase();
    // A line as wide as the terminal, or one below its last, would move everything.
    drawn = wanted.slice(0, (output.rows ?? 24) - 1).map((text) => text.slice(0, columns() - 1));
    output.write(`${BEGIN}${before}${line}${drawn.map((text) => `${text}\n`).join('')}${END}`);
  };
  output.on('resize', () => draw());
  return {
    line: (text) => draw(`${text}\n`),
    live(text, lines = [text]) {
      wanted = text === '' ? [] : lines;
      draw();
    },
  };
}

function plain(output: Output, now: () => number): Screen {
  let last = Number.NEGATIVE_INFINITY;
  return {
    line: (text) => void output.write(`${text}\n`),
    live(text) {
      if (text === '' || now() - last < PLAIN_INTERVAL_MS) return;
      last = now();
      output.write(`${text}\n`);
    },
  };
}
