/** What is to be published, a file or standard input for `-`, and how far it is. */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { notFound, StoreDataError } from '#shared/errors.ts';
import { formatBytes, formatDuration } from '../output/durations.ts';
import { remark } from '../output/print.ts';
import type { Counts } from './publish-stream.ts';

export interface Input {
  stream: Readable;
  totalBytes: number | null;
}

const CHUNK_BYTES = 262_144;

/** @throws {StoreDataError} `not_found` when the file cannot be read, in words. */
export async function openInput(path: string): Promise<Input> {
  if (path === '-') {
    if (process.stdin.isTTY) remark('reading events from the terminal, one a line; Ctrl-D ends');
    return { stream: process.stdin, totalBytes: null };
  }
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw notFound(`${path} is a folder, not a file`);
    const stream = createReadStream(path, { highWaterMark: CHUNK_BYTES });
    await once(stream, 'open');
    // A pipe has no size.
    return { stream, totalBytes: found.isFile() ? found.size : null };
  } catch (error) {
    if (error instanceof StoreDataError) throw error;
    throw notFound(`${path} cannot be read: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  return typeof code === 'string' ? code : 'unknown error';
}

/** One line: what is done, how fast, and how long it will take. @param totalBytes of the whole input; `null` where nobody knows. */
export function describeProgress(counts: Counts, totalBytes: number | null, elapsedMs: number): string {
  const { sent, rejected, bytes } = counts;
  const rate = elapsedMs === 0 ? 0 : Math.round((sent * 1_000) / elapsedMs);
  const parts = [`sent ${sent}`, `rejected ${rejected}`, `${rate} events/s`];
  if (totalBytes !== null && totalBytes > 0 && bytes > 0) {
    const share = Math.min(1, bytes / totalBytes);
    const left = formatDuration((elapsedMs * (1 - share)) / share);
    parts.push(`${Math.floor(share * 100)} % of ${formatBytes(totalBytes)}`, `${left} left`);
  } else {
    parts.push(formatBytes(bytes));
  }
  return parts.join(', ');
}
