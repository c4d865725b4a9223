/**
 * What commands write: results, as words, tables or JSON, to standard output; remarks, progress and
 * questions to standard error; and whether they failed although they ran to their end.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createInterface } from 'node:readline/promises';
import { commandInvalid } from '#shared/errors.ts';
import { WrongUsage } from './options.ts';

// A process may run several commands at once.
const running = new AsyncLocalStorage<{ isFailed: boolean; isJson: boolean }>();

export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

export function isJson(): boolean {
  return running.getStore()?.isJson === true;
}

export function printResult(value: unknown, text: string): void {
  print(isJson() ? JSON.stringify(value, null, 2) : text);
}

/** Prints a note for the operator, apart from the result. */
export function remark(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** The command continues, and its exit code is 1. */
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

/** @returns the command's exit code: 1 if it was marked as failed. */
export async function runToEnd(isJson: boolean, command: () => Promise<number>): Promise<number> {
  const outcome = { isFailed: false, isJson };
  const code = await running.run(outcome, command);
  return code === 0 && outcome.isFailed ? 1 : code;
}

/** A column: a field under its own name, or a title and a cell. */
type Column<R> =
  (keyof R & string) | readonly [title: string, cell: (keyof R & string) | ((row: R) => unknown)];

/** A value in a table or a list of facts. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.join(' ') || '(none)';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? printable(value) : JSON.stringify(value);
}

/** Rows in columns under titles. */
export function tableOf<R>(rows: readonly R[], columns: readonly Column<R>[]): string {
  const described = columns.map((column) =>
    typeof column === 'string' ? ([column.toUpperCase(), column] as const) : column,
  );
  return layOut([
    described.map(([title]) => title),
    ...rows.map((row) =>
      described.map(([, cell]) => cellText(typeof cell === 'function' ? cell(row) : row[cell])),
    ),
  ]);
}

export function renderFacts(facts: object): string {
  return layOut(Object.entries(facts).map(([name, value]) => [name, cellText(value)]));
}

/** Lays out cells in columns; ends with a line break. */
function layOut(lines: readonly string[][]): string {
  const widthOf = (column: number) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0));
  const widths = (lines[0] ?? []).map((_, column) => widthOf(column));
  const texts = lines.map((cells) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
  );
  return texts.map((text) => `${text.trimEnd()}\n`).join('');
}

/** @param limit how many rows are printed; a remark says when there are more. */
export function printRows<R>(rows: readonly R[], columns: readonly Column<R>[], limit = Infinity) {
  const shown = rows.slice(0, limit);
  printResult(shown, tableOf(shown, columns));
  if (rows.length > limit) remarkMore(limit);
}

export function remarkMore(limit: number): void {
  remark(`there are more than ${limit}: --limit shows more`);
}

/** @param facts what people see; the fields of the result itself, unless given. */
export function printFacts(result: object, facts = result): void {
  printResult(result, renderFacts(facts));
}

// C0 and C1 controls, marks that change the direction of text, line separators, lone surrogates.
const HARMFUL = /[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\p{Cs}]/gu;

/** Escapes the characters that a terminal would obey. */
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

interface YesFlag {
  yes?: true | undefined;
}

/**
 * Called before servers are connected.
 * @throws {WrongUsage} without a terminal and without `--yes`.
 */
export function checkCanAsk({ yes }: YesFlag, to: string): void {
  if (yes || (process.stdin.isTTY && process.stderr.isTTY)) return;
  throw new WrongUsage(`there is no terminal for a question: give --yes to ${to}`);
}

/**
 * Asks on the terminal, unless `--yes` is given.
 * @throws {StoreDataError} `command_invalid` with `otherwise` for every answer except yes, and for the end of input.
 */
export async function askFor({ yes }: YesFlag, question: string, otherwise: string): Promise<void> {
  if (yes) return;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new AbortController();
  terminal.on('close', () => closed.abort());
  const asked = terminal.question(`${question} [y/N] `, { signal: closed.signal });
  const answer = await asked.catch(() => {
    process.stderr.write('\n');
    return '';
  });
  terminal.close();
  if (!/^y(?:es)?$/i.test(answer.trim())) throw commandInvalid(otherwise);
}

const PROGRESS_MS = 5_000;

/** Shows the first text at once, and later ones every few seconds. */
export function createProgress(): (text: string) => void {
  let shownAt = -Infinity;
  return (text) => {
    const now = performance.now();
    if (now - shownAt < PROGRESS_MS) return;
    shownAt = now;
    remark(text);
  };
}

/** A span such as `40 ms`, `6.2 s`, `3 min`, `5 h`. */
export function formatDuration(milliseconds: number): string {
  const seconds = milliseconds / 1_000;
  if (seconds < 1) return `${Math.round(milliseconds)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400
    ? `${Math.floor(seconds / 3_600)} h`
    : `${Math.floor(seconds / 86_400)} d`;
}

export function formatAge(since: Date): string {
  const milliseconds = Math.max(0, Date.now() - Number(since));
  return milliseconds < 60_000
    ? `${Math.floor(milliseconds / 1_000)} s`
    : formatDuration(milliseconds);
}

/**
 * The share of work that is done, and how long the rest takes at the rate so far: `, 40 %, 6.2 s
 * left`.
 */
export function describeRest(done: number, total: number, elapsedMs: number): string {
  if (done <= 0) return '';
  const share = done / total;
  return `, ${Math.floor(share * 100)} %, ${formatDuration((elapsedMs * (1 - share)) / share)} left`;
}

/** Aborted by the first signal; the second one ends the process. */
export function stopSignal(): AbortSignal {
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort());
  return stopped.signal;
}
