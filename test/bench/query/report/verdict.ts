/** What a result comes to, in sentences. */
import { median } from '../../median.ts';
import type { QueryBenchResult } from '../result.ts';
import { grouped } from './columns.ts';

export function verdict({ rows }: QueryBenchResult): string[] {
  const behind = rows.filter(({ ratio }) => ratio < 1);
  const ratios = rows.map(({ ratio }) => ratio);
  const span = `${Math.min(...ratios).toFixed(2)}× to ${Math.max(...ratios).toFixed(2)}×`;
  return [
    behind.length === 0
      ? `Ahead in every row: ${span}, median ${median(ratios).toFixed(2)}×.`
      : `Behind in ${behind.length} of ${rows.length} rows: ${behind.map(({ name }) => name).join('; ')}.`,
    ...rows.flatMap((poll) => {
      const page = rows.find((row) => !row.poll && row.path === poll.path && poll.name.startsWith(row.name));
      if (!poll.poll || page === undefined) return [];
      const [polls, pages] = [poll.ours.requests_per_second, page.ours.requests_per_second];
      const factor = (polls / pages).toFixed(1);
      return `${page.name}: ${grouped(polls)} polls answered 304 a second, ${grouped(pages)} whole answers (${factor}×).`;
    }),
  ];
}
