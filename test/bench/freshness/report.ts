/** The result for the terminal and for `docs/benchmarks.md`. */
import { type Column, renderTable } from '../../../services/admin/output/print.ts';
import { grouped } from '../query/report/columns.ts';
import type { FreshnessResult } from './run.ts';

const TARGET_MS = 250;
const TITLES = ['stream', 'events', 'p50 ms', 'p99 ms', 'slowest ms', `p99 below ${TARGET_MS} ms`];

export function renderScreen(result: FreshnessResult): string {
  const columns = TITLES.map((title, index): Column => ({ title, align: index === 0 ? 'left' : 'right' }));
  return [conditions(result), '', renderTable(columns, rowsOf(result), 100), ending(result)].join('\n');
}

export function renderMarkdown(result: FreshnessResult): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    `Measured on ${result.date}: ${conditions(result)}`,
    '',
    `\`${result.command}\``,
    '',
    line(TITLES),
    line(TITLES.map((_, index) => (index === 0 ? '---' : '--:'))),
    ...rowsOf(result).map(line),
    '',
    ending(result),
  ].join('\n');
}

function conditions({ machine, load_average: load, rate }: FreshnessResult): string {
  return `${grouped(rate)} new orders a second; ${machine.cores} cores (${machine.cpu}), Node ${machine.node}, MongoDB ${machine.mongodb}; load average ${load} when it began.`;
}

function rowsOf({ calm, beside_backlog: beside }: FreshnessResult): string[][] {
  return [
    { name: 'calm', ages: calm },
    { name: 'beside a backlog', ages: beside },
  ].map(({ name, ages }) => [
    name,
    grouped(ages.events),
    String(ages.p50_ms),
    String(ages.p99_ms),
    String(ages.max_ms),
    ages.p99_ms < TARGET_MS ? 'yes' : 'no',
  ]);
}

function ending({ backlog, backlog_applied: applied, every }: FreshnessResult): string {
  return `Five clients ask every ${every} ms, each for its store. The backlog of ${grouped(backlog)} orders on a sixth partition came at once with the second stream; when that stream had been seen, ${grouped(applied)} of them were applied.`;
}
