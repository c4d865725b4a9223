/** A headless terminal that shows what a user would see. */
import type { Output } from '#local/start/screen.ts';
import xterm from '@xterm/headless';

export interface TestTerminal {
  output: Output;
  /** The visible rows without trailing blanks, up to the last non-empty one. */
  rows: () => Promise<string[]>;
  /** Like dragging the window. */
  resize: (columns: number, rows: number) => void;
}

export function testTerminal(columns: number, rows: number): TestTerminal {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows,
    allowProposedApi: true,
    convertEol: true,
  });
  const resized: (() => void)[] = [];
  const output = {
    isTTY: true,
    get columns() {
      return terminal.cols;
    },
    get rows() {
      return terminal.rows;
    },
    write(text: string) {
      terminal.write(text);
      return true;
    },
    on(event: string, listener: () => void) {
      if (event === 'resize') resized.push(listener);
      return this;
    },
  };
  return {
    output: output as unknown as Output,
    async rows() {
      await new Promise<void>((resolve) => terminal.write('', resolve));
      const { active } = terminal.buffer;
      const seen = Array.from(
        { length: terminal.rows },
        (_, row) => active.getLine(active.viewportY + row)?.translateToString(true) ?? '',
      );
      return seen.slice(0, seen.findLastIndex((row) => row !== '') + 1);
    },
    resize(toColumns, toRows) {
      terminal.resize(toColumns, toRows);
      for (const listener of resized) listener();
    },
  };
}
