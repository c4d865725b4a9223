/** What `npm start` shows: lines, and below them one line that changes in place on a terminal. */
import type { WriteStream } from 'node:tty';

/** Where lines go; standard output as a rule. */
export type Output = Pick<WriteStream, 'write'> & { isTTY?: boolean; columns?: number };

export interface Screen {
  /** Writes a line for good. */
  line: (text: string) => void;
  /** Shows the text as the changing line; without a terminal as a line of its own, every few seconds. */
  live: (text: string) => void;
}

const CLEAR_LINE = '\r\u001B[2K';
const PLAIN_INTERVAL_MS = 5_000;

/** A screen on an output. */
export function createScreen(output: Output, now: () => number = Date.now): Screen {
  return output.isTTY === true ? terminal(output) : plain(output, now);
}

function terminal(output: Output): Screen {
  let shown = '';
  // A line that wraps could not be cleared; the last column stays free, or the cursor goes to the next line.
  const draw = () => output.write(shown.slice(0, (output.columns ?? 80) - 1));
  return {
    line(text) {
      output.write(`${shown === '' ? '' : CLEAR_LINE}${text}\n`);
      draw();
    },
    live(text) {
      output.write(CLEAR_LINE);
      shown = text;
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
