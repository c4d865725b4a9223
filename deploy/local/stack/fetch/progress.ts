// Says how far a download is, a line now and then: as readable in a CI log as in a terminal.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const INTERVAL_MS = 2_000;
/** A line is worth it after so much more, or after so long. */
const STEP = 0.1;
const LONGEST_SILENCE_MS = 10_000;
const MEGABYTE = 1_000_000;

/** Logs the growth of `folder` until the returned function is called. */
export function watchGrowth(
  folder: string,
  what: string,
  totalBytes: number,
  log: (line: string) => void,
): () => void {
  const started = Date.now();
  const isWorthALine = steps(totalBytes);
  const look = async () => {
    const bytes = await sizeOf(folder);
    const elapsedMs = Date.now() - started;
    if (isWorthALine(bytes, elapsedMs)) log(progressLine(what, bytes, totalBytes, elapsedMs));
  };
  const timer = setInterval(() => void look(), INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Tells whether enough has come since it last said so. */
export function steps(totalBytes: number): (bytes: number, elapsedMs: number) => boolean {
  let [toldBytes, toldMs] = [-Infinity, 0];
  return (bytes, elapsedMs) => {
    const isMore = Math.min(bytes, totalBytes) - toldBytes >= STEP * totalBytes;
    if (!isMore && elapsedMs - toldMs < LONGEST_SILENCE_MS) return false;
    [toldBytes, toldMs] = [Math.min(bytes, totalBytes), elapsedMs];
    return true;
  };
}

/** One line of progress. What lies in the folder may for a moment be more than the download: unpacked files. */
export function progressLine(what: string, bytes: number, totalBytes: number, elapsedMs: number): string {
  const percent = Math.min(100, Math.round((bytes / totalBytes) * 100));
  const size = `${Math.round(Math.min(bytes, totalBytes) / MEGABYTE)} of ${Math.round(totalBytes / MEGABYTE)} MB`;
  return `fetching ${what}: ${size} (${percent} %), ${Math.round(elapsedMs / 1000)} s`;
}

async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  // A temporary file may be gone between the listing and the look at it.
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name)).then(bytesOf, () => 0)));
  return sizes.reduce((total, size) => total + size, 0);
}

function bytesOf(entry: { isFile(): boolean; size: number }): number {
  return entry.isFile() ? entry.size : 0;
}
