/** Tables without frames: they read well at 80 columns, and `awk` and `grep` understand them. */
import Table from 'cli-table3';

export interface Column {
  title: string;
  align?: 'left' | 'right';
  /** Takes what the others leave of the terminal's width, and breaks lines at words. */
  fills?: true;
}

const NO_FRAME = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((name) => [name, '']),
);
const GAP = 2;
const NARROWEST_FILL = 20;

/** How wide the terminal is; 80 where the output is none. */
export function terminalWidth(): number {
  return process.stdout.columns ?? 80;
}

/** Lays out rows under titles; ends with a line break. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly string[][],
  width = terminalWidth(),
): string {
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const fill = columns.findIndex(({ fills }) => fills);
  if (fill !== -1) {
    const others = widths.reduce((sum, each, index) => sum + (index === fill ? 0 : each + GAP), 0);
    widths[fill] = Math.min(widths[fill] ?? 0, Math.max(NARROWEST_FILL, width - others));
  }
  const table = new Table({
    chars: NO_FRAME,
    style: { 'padding-left': 0, 'padding-right': GAP, head: [], border: [], compact: true },
    head: columns.map(({ title }) => title),
    colWidths: widths.map((each) => each + GAP),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    wordWrap: true,
  });
  table.push(...rows);
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}

/** A column by what it shows of a row. */
type CellOf<R> = readonly [title: string, cell: (row: R) => string, layout?: 'right' | 'fills'];

/** Lays out rows by their columns; ends with a line break. */
export function tableOf<R>(rows: readonly R[], columns: readonly CellOf<R>[]): string {
  return renderTable(
    columns.map(([title, , layout]) => ({
      title,
      ...(layout === 'right' && { align: layout }),
      ...(layout === 'fills' && { fills: true }),
    })),
    rows.map((row) => columns.map(([, cell]) => cell(row))),
  );
}

/** Lays out names and values under each other; ends with a line break. */
export function renderFacts(facts: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}
