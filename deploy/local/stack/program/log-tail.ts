// The end of a server's log, for a message about its death.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const TAIL_BYTES = 16 * 1024;

/** The last non-empty lines of a file; none when there is no such file. */
export function lastLines(file: string, count = 12): string[] {
  return readTail(file)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .slice(-count);
}

function readTail(file: string): string {
  let descriptor;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(descriptor);
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(descriptor, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString('utf8');
  } finally {
    closeSync(descriptor);
  }
}
