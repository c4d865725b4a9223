/**
 * What commands write: results, as words, tables or JSON, to standard output, remarks to standard error; and whether they failed all
 * the same.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import Table from 'cli-table3';

// A process may run several commands at once.
const running = new AsyncLocalStorage<{ isFailed: boolean; isJson: boolean }>();

export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function isJson(): boolean {
  return running.getStore()?.isJson === true;
}

export function printResult(value: unknown, text: string): void {
  if (isJson()) printJson(value);
  else print(text);
}

/** Tells the operator something that is no result. */
export function remark(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Lets the command end with exit code 1, though it runs to its end. */
export function markFailed(): void {
  const command = running.getStore();
  if (command !== undefined) command.isFailed = true;
}

export function fail(code: string, message: string): void {
  const text = isJson()
    ? JSON.stringify({ error: { code, message } })
    : `store-data: ${message.split('\n').map(printable).join('\nstore-data: ')}`;
  process.stderr.write(`${text}\n`);
}

/** Runs a command to its end. @returns its exit code: 1 where it was marked as failed. */
export async function runToEnd(isJson: boolean, command: () => Promise<number>): Promise<number> {
  const outcome = { isFailed: false, isJson };
  const code = await running.run(outcome, command);
  return code === 0 && outcome.isFailed ? 1 : code;
}

/** A column: its title, what it shows of a row, and whether it is aligned right or gives way where the terminal is narrow. */
export type Column<R> = readonly [
  title: string,
  cell: (keyof R & string) | ((row: R) => string | number),
  layout?: 'right' | 'fills',
];

const FRAME =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid middle';
const NO_FRAME = Object.fromEntries(FRAME.split(' ').map((part) => [part, '']));
const GAP = 2;
const MIN_FILL = 16;

/** Lays out rows in columns under titles; ends with a line break. */
export function tableOf<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  // A pipe has no width.
  width = process.stdout.columns ?? 80,
): string {
  const cells = rows.map((row) =>
    columns.map(([, cell]) => String(typeof cell === 'function' ? cell(row) : row[cell])),
  );
  const widths = columns.map(([title], index) =>
    Math.max(title.length, ...cells.map((row) => row[index]?.length ?? 0)),
  );
  const widthOf = (index: number) => widths[index] ?? 0;
  for (let excess = widths.reduce((sum, each) => sum + each + GAP, -GAP) - width; excess > 0; excess--) {
    const [widest] = [...columns.keys()]
      .filter((index) => columns[index]?.[2] === 'fills' && widthOf(index) > MIN_FILL)
      .toSorted((a, b) => widthOf(b) - widthOf(a));
    if (widest === undefined) break;
    widths[widest] = widthOf(widest) - 1;
  }
  const table = new Table({
    chars: NO_FRAME,
    style: { 'padding-left': 0, 'padding-right': GAP, head: [], border: [], compact: true },
    head: columns.map(([title]) => title),
    colWidths: widths.map((each) => each + GAP),
    colAligns: columns.map(([, , layout]) => (layout === 'right' ? 'right' : 'left')),
    wordWrap: true,
  });
  table.push(...cells);
  const lines = table.toString().split('\n');
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

/** @param none what is said where there are no rows; `null` where there always are some. */
export function printRows<R>(rows: readonly R[], none: string | null, columns: readonly Column<R>[]): void {
  printResult(rows, none !== null && rows.length === 0 ? none : tableOf(rows, columns));
}

export function remarkMore(found: readonly unknown[], limit: number): void {
  if (found.length > limit) remark(`there are more than ${limit}: --limit shows more`);
}

export type Facts = readonly (readonly [name: string, value: string | number])[];

export function renderFacts(facts: Facts): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

export function printFacts(value: unknown, facts: Facts): void {
  printResult(value, renderFacts(facts));
}

// C0 and C1 controls, marks that turn the direction of text, line separators, lone surrogates.
const HARMFUL = /[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\p{Cs}]/gu;

/** Replaces what a terminal would obey by its escape. */
export function printable(text: string): string {
  return text.replaceAll(HARMFUL, (character) => {
    if (character === '\n') return String.raw`\n`;
    if (character === '\t') return String.raw`\t`;
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}

export function shortened(text: string, length: number): string {
  const clean = printable(text);
  return clean.length <= length ? clean : `${clean.slice(0, length - 1)}…`;
}
