/** What commands write: results to standard output, remarks to standard error; and whether they failed all the same. */
import { AsyncLocalStorage } from 'node:async_hooks';

// A process may run several commands at once.
const running = new AsyncLocalStorage<{ isFailed: boolean }>();

/** Writes a result. */
export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** Writes a result for programs. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Writes a result in words, or as JSON where it was asked for. */
export function printResult(flags: { json?: true | undefined }, value: unknown, text: string): void {
  if (flags.json) printJson(value);
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

/** Runs a command to its end. @returns whether it was marked as failed. */
export async function runToEnd(command: () => Promise<unknown>): Promise<{ isFailed: boolean }> {
  const outcome = { isFailed: false };
  await running.run(outcome, command);
  return outcome;
}
