/** The result for `docs/benchmarks.md`. */
import type { QueryBenchResult } from '../result.ts';
import { cellsOf, TITLES } from './columns.ts';
import { verdict } from './verdict.ts';

export function renderMarkdown(result: QueryBenchResult): string {
  const { date, machine, command, rows } = result;
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, Node ${machine.node}, MongoDB ${machine.mongodb}.`,
    '',
    `\`${command}\``,
    '',
    line(TITLES),
    line(TITLES.map((_, index) => (index === 0 ? '---' : '--:'))),
    ...rows.map((row) => line(cellsOf(row))),
    '',
    ...verdict(result).map((sentence) => `- ${sentence}`),
  ].join('\n');
}
