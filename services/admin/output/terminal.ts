/** What commands do on a terminal: questions, progress, times and sizes in words, and Ctrl-C. */
import { createInterface } from 'node:readline/promises';
import { commandInvalid } from '#shared/errors.ts';
import { WrongUsage } from '../options.ts';

interface YesFlag {
  yes?: true | undefined;
}

/** To be called before anything is connected. @throws {WrongUsage} where there is no terminal to ask on, and `--yes` is not given. */
export function checkCanAsk({ yes }: YesFlag, to: string): void {
  if (yes || (process.stdin.isTTY && process.stderr.isTTY)) return;
  throw new WrongUsage(`nobody can be asked here: give --yes to ${to}`);
}

/** Asks, unless `--yes` is given. @throws {StoreDataError} `command_invalid` with `otherwise` when the answer is no. */
export async function askFor(flags: YesFlag, question: string, otherwise: string): Promise<void> {
  if (!flags.yes && !(await confirm(question))) throw commandInvalid(otherwise);
}

/** Asks on the terminal; anything but yes is no, the end of input too. */
async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new AbortController();
  terminal.on('close', () => closed.abort());
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: closed.signal });
    return /^y(?:es)?$/i.test(answer.trim());
  } catch {
    process.stderr.write('\n');
    return false;
  } finally {
    terminal.close();
  }
}

const TERMINAL_MS = 200;
const LOG_MS = 5_000;

/** On a terminal one line that is rewritten, else a line every few seconds. */
export class ProgressLine {
  readonly #output = process.stderr;
  #shownAt = -Infinity;
  #isShown = false;

  get everyMs(): number {
    return this.#output.isTTY ? TERMINAL_MS : LOG_MS;
  }

  show(text: string): void {
    const now = performance.now();
    if (now - this.#shownAt < this.everyMs) return;
    this.#shownAt = now;
    if (this.#output.isTTY) {
      this.#output.write(`\r${text.slice(0, (this.#output.columns ?? 80) - 1)}\u001B[K`);
      this.#isShown = true;
    } else {
      this.#output.write(`${text}\n`);
    }
  }

  say(text: string): void {
    this.clear();
    this.#output.write(`${text}\n`);
  }

  clear(): void {
    if (this.#isShown) this.#output.write('\r\u001B[K');
    this.#isShown = false;
    this.#shownAt = -Infinity;
  }
}

/** A span such as `40 ms`, `6.2 s`, `3 min`, `5 h`. */
export function formatDuration(milliseconds: number): string {
  const seconds = milliseconds / 1_000;
  if (seconds < 1) return `${Math.round(milliseconds)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

export function formatAge(since: Date | number, now = Date.now()): string {
  const milliseconds = Math.max(0, now - Number(since));
  return milliseconds < 60_000 ? `${Math.floor(milliseconds / 1_000)} s` : formatDuration(milliseconds);
}

/** A size such as `812 B`, `14 KiB`, `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${Math.round(bytes / 1_024)} KiB`;
  if (bytes < 1_073_741_824) return `${(bytes / 1_048_576).toFixed(1)} MiB`;
  return `${(bytes / 1_073_741_824).toFixed(1)} GiB`;
}

/** Aborted by the first signal; the second one ends the process. */
export function stopSignal(): AbortSignal {
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort());
  return stopped.signal;
}
