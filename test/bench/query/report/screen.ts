/** The result for the terminal. */
import { type Column, renderTable } from '../../../../services/admin/output/print.ts';
import type { QueryBenchResult, RowResult } from '../result.ts';
import { cellsOf, grouped, TITLES } from './columns.ts';
import { verdict } from './verdict.ts';

/** One row as soon as it is known. */
export function progressLine({ name, ours, usual_way: usualWay, ratio }: RowResult): string {
  const rates = `${grouped(ours.requests_per_second)} / ${grouped(usualWay.requests_per_second)} req/s`;
  return `${name}: ${rates}, ${ratio.toFixed(2)}×`;
}

export function renderScreen(result: QueryBenchResult): string {
  const { machine, records, connections, rows } = result;
  const columns = TITLES.map((title, index): Column => ({ title, align: index === 0 ? 'left' : 'right' }));
  return [
    `${grouped(records)} records of each kind in a store, ${connections} connections, medians of ${result.rounds} rounds`,
    `${machine.cores} cores, ${machine.memory_gib} GiB, Node ${machine.node}, MongoDB ${machine.mongodb}`,
    '',
    renderTable(columns, rows.map(cellsOf), 100),
    ...verdict(result),
    '',
  ].join('\n');
}
