/** The result for `docs/benchmarks.md`. */
import type { ScaleResult } from '../result.ts';
import { cellsOf, footprintCells, FOOTPRINT_TITLES, memoryCells, sizeOf, TITLES } from './cells.ts';
import { measuredOn } from './machine.ts';

/** @param chart the file name of the drawing beside the documentation. */
export function renderScaleMarkdown(result: ScaleResult, chart: string): string {
  const size = sizeOf(result);
  return [
    `### ${size}`,
    '',
    measuredOn(result),
    '',
    `\`${result.command}\``,
    '',
    ...table(TITLES, [...result.rows.map(cellsOf), ...memoryCells(result)]),
    '',
    `![Median latency of one connection by depth of the page and by records in the store, at ${size}](${chart})`,
    '',
    'On disk, for each record (all stores of the run together):',
    '',
    ...table(FOOTPRINT_TITLES, result.footprints.flatMap(footprintCells)),
  ].join('\n');
}

function table(titles: readonly string[], rows: readonly string[][]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)];
}
