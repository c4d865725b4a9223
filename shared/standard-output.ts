/**
 * Log lines to standard output, several with one write. Where it cannot be written, as with a full
 * disk behind it, lines are lost and the process continues: pino's own stream throws then, and
 * never ends its flush at the exit.
 */
import { write, writeSync } from 'node:fs';
import { hasCode } from './errors.ts';

/** Lines are written together: one write for each would cost more than all checks of a request. */
const BUFFERED_CHARACTERS = 4_096;
const FLUSH_MS = 200;
/** While a write takes longer, as when nobody reads the pipe, further lines are lost. */
const MAX_WAITING_CHARACTERS = 16 * 1_048_576;
/** A full pipe takes more a moment later. */
const FULL_PIPE_MS = 20;
const MAX_EXIT_MS = 1_000;

export function openStandardOutput(fd = 1) {
  let waiting = '';
  let isWriting = false;

  function take(): Buffer {
    const bytes = Buffer.from(waiting);
    waiting = '';
    return bytes;
  }

  function flush(): void {
    if (isWriting || waiting === '') return;
    isWriting = true;
    send(take());
  }

  function send(bytes: Buffer): void {
    write(fd, bytes, (error, written) => {
      if (hasCode(error, 'EAGAIN')) setTimeout(() => send(bytes), FULL_PIPE_MS);
      else if (error === null && written < bytes.length) send(bytes.subarray(written));
      else {
        isWriting = false;
        if (waiting.length >= BUFFERED_CHARACTERS) flush();
      }
    });
  }

  function flushSync(): void {
    let bytes = take();
    for (const end = Date.now() + MAX_EXIT_MS; bytes.length > 0;) {
      try {
        bytes = bytes.subarray(writeSync(fd, bytes));
      } catch (error) {
        if (!hasCode(error, 'EAGAIN') || Date.now() > end) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS);
      }
    }
  }

  setInterval(flush, FLUSH_MS).unref();
  process.on('exit', flushSync);
  return {
    write(line: string): void {
      if (waiting.length > MAX_WAITING_CHARACTERS) return;
      waiting += line;
      if (waiting.length >= BUFFERED_CHARACTERS) flush();
    },
    /** Pino calls it after a fatal line. */
    flushSync,
  };
}
