/** The result for the terminal. */
import { type Column, renderTable } from '../../../../../services/admin/output/print.ts';
import type { ScaleResult, ScaleRowResult } from '../result.ts';
import { cellsOf, figureOf, footprintCells, FOOTPRINT_TITLES, memoryCells, sizeOf, TITLES } from './cells.ts';
import { measuredOn } from './machine.ts';

const WIDTH = 160;

/** One row as soon as it is known. */
export function progressLine(row: ScaleRowResult): string {
  return `${row.name}, against ${row.against}: ${row.ours.p50_ms} / ${row.other.p50_ms} ms, ${figureOf(row)}`;
}

export function renderScaleScreen(result: ScaleResult): string {
  return [
    `${sizeOf(result)} in a store; medians of ${result.rounds} rounds`,
    measuredOn(result),
    '',
    renderTable(columnsOf(TITLES), [...result.rows.map(cellsOf), ...memoryCells(result)], WIDTH),
    renderTable(columnsOf(FOOTPRINT_TITLES), result.footprints.flatMap(footprintCells), WIDTH),
  ].join('\n');
}

function columnsOf(titles: readonly string[]): Column[] {
  return titles.map((title): Column => ({ title }));
}
