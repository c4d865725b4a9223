/** The columns that the table on the screen and the one in the documentation have in common. */
import type { LoadResult } from '../../load/messages.ts';
import type { RowResult } from '../result.ts';

export const TITLES = ['request', 'KiB', 'req/s', 'p50 ms', 'p99 ms', 'usual', 'p50 ms', 'p99 ms', 'ratio'];

export function cellsOf(row: RowResult): string[] {
  const { name, poll, body_bytes: bytes, ours, usual_way: usualWay, ratio } = row;
  const size = poll ? '0' : (bytes / 1_024).toFixed(1);
  return [name, size, ...figures(ours), ...figures(usualWay), `${ratio.toFixed(2)}×`];
}

function figures({ requests_per_second: rate, p50_ms: p50, p99_ms: p99 }: LoadResult): string[] {
  return [grouped(rate), milliseconds(p50), milliseconds(p99)];
}

export function grouped(rate: number): string {
  return Math.round(rate).toLocaleString('en-US');
}

function milliseconds(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0);
}
