/** Spans of time and sizes in the shortest words that say enough. */

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

/** A span such as `40 ms`, `6.2 s`, `3 min`, `5 h`. */
export function formatDuration(milliseconds: number): string {
  const seconds = milliseconds / 1_000;
  if (seconds < 1) return `${Math.round(milliseconds)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  for (const [unit, length] of UNITS) {
    if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`;
  }
  return `${Math.round(seconds)} s`;
}

/** How long ago something was, in whole units. */
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
