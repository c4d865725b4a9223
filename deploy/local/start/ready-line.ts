/** The log line with which a service says that it is ready, and at which addresses. */
import { open, type FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 40;

/** What a service says of itself once it is ready. */
export interface ReadyLine {
  /** Where its clients reach it; a projector has none. */
  url: string | null;
  operations: string;
}

/** Waits for the line in what is appended to `file` from `offset` on. Rejects when `signal` aborts. */
export async function awaitReadyLine(file: string, offset: number, signal: AbortSignal): Promise<ReadyLine> {
  const handle = await open(file, 'r');
  try {
    let position = offset;
    let rest = '';
    for (;;) {
      signal.throwIfAborted();
      const { text, bytes } = await readOn(handle, position);
      position += bytes;
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      const ready = lines.map(readReadyLine).find((line) => line !== null);
      if (ready) return ready;
      await sleep(POLL_MS, undefined, { signal });
    }
  } finally {
    await handle.close();
  }
}

async function readOn(handle: FileHandle, position: number): Promise<{ text: string; bytes: number }> {
  const buffer = Buffer.alloc(64 * 1024);
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
  // Latin-1, so that a character cut in two is no error: what is looked for is ASCII.
  return { text: buffer.toString('latin1', 0, bytesRead), bytes: bytesRead };
}

/** Only the line at the end of a service's start names the operations address beside a message that says so. */
export function readReadyLine(line: string): ReadyLine | null {
  if (!line.includes('"operations"')) return null;
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== 'object' || entry === null || !('operations' in entry)) return null;
    if (typeof entry.operations !== 'string') return null;
    const url = 'url' in entry && typeof entry.url === 'string' ? entry.url : null;
    return { url, operations: entry.operations };
  } catch {
    return null;
  }
}
