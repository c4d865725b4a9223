/** What commands write: results to standard output, remarks to standard error. */

/** Writes a result. */
export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** Writes a result for programs. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Tells the operator something that is no result. */
export function remark(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Lets the command end with exit code 1, though it ran to its end. */
export function markFailed(): void {
  process.exitCode = 1;
}
