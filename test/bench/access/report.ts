/** The result for the terminal and for `docs/benchmarks.md`. */
import { type Column, renderTable } from '../../../services/admin/output/print.ts';
import { grouped } from '../query/report/columns.ts';
import type { AccessBenchResult, Comparison, Distribution } from './result.ts';

/** `cpu µs` is the service's own processor time for a request. */
const SIDE = ['p50 ms', 'p99 ms', 'cpu µs'];
const COMPARED = ['', 'ours', ...SIDE, 'other', ...SIDE, 'ratio'];
const REFUSED = ['refusal', 'requests', 'p10 ms', 'p50 ms', 'p90 ms', 'p99 ms'];

/** One comparison as soon as it is known. */
export function progressLine({ name, ours, other, ratio }: Comparison): string {
  const rates = `${grouped(ours.requests_per_second)} / ${grouped(other.requests_per_second)} req/s`;
  return `${name}: ${rates}, ${ratio.toFixed(2)}×`;
}

export function renderScreen(result: AccessBenchResult): string {
  const { machine, connections, rounds } = result;
  const columns = (titles: string[]) =>
    titles.map((title, index): Column => ({ title, align: index === 0 ? 'left' : 'right' }));
  return [
    `${connections} connections, medians of ${rounds} rounds`,
    `${machine.cores} cores, ${machine.memory_gib} GiB, Node ${machine.node}, MongoDB ${machine.mongodb}`,
    '',
    renderTable(columns(COMPARED), rowsOf(result), 100),
    renderTable(columns(REFUSED), result.refusals.map(refusalCells), 100),
    '',
  ].join('\n');
}

export function renderMarkdown(result: AccessBenchResult): string {
  const { date, machine, command } = result;
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = (titles: string[], rows: string[][]) => [
    line(titles),
    line(titles.map((_, index) => (index === 0 ? '---' : '--:'))),
    ...rows.map(line),
  ];
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, Node ${machine.node}, MongoDB ${machine.mongodb}.`,
    '',
    `\`${command}\``,
    '',
    ...table(COMPARED, rowsOf(result)),
    '',
    ...table(REFUSED, result.refusals.map(refusalCells)),
  ].join('\n');
}

function rowsOf({ tokens, data }: AccessBenchResult): string[][] {
  return [
    comparedCells({ ...tokens, name: 'tokens, beside oidc-provider' }),
    ...data.map((row) => comparedCells({ ...row, name: `${row.name}, beside none` })),
  ];
}

function comparedCells({ name, ours, other, ratio }: Comparison): string[] {
  const figures = [ours, other].flatMap((side) => [
    grouped(side.requests_per_second),
    side.p50_ms.toFixed(1),
    side.p99_ms.toFixed(1),
    (side.cpu_ms * 1_000).toFixed(0),
  ]);
  return [name, ...figures, `${ratio.toFixed(2)}×`];
}

function refusalCells({ name, requests, ...times }: Distribution): string[] {
  return [name, grouped(requests), ...Object.values(times).map((time) => time.toFixed(2))];
}
