/** The result for the terminal and for `docs/benchmarks.md`. */
import { type Column, renderTable } from '../../../services/admin/output/print.ts';
import { grouped } from '../query/report/columns.ts';
import type { Pace } from './phases.ts';
import type { ProjectorBenchResult } from './result.ts';

const TITLES = ['', 'events', 'events/s', 'writer', 'mongod', 'both', 'peak MiB', 'ours'];
const PHASES = [
  ['created', 'created'],
  ['changed', 'changed'],
  ['all', 'in all'],
] as const;

export function renderScreen(result: ProjectorBenchResult): string {
  const columns = TITLES.map((title, index): Column => ({ title, align: index < 2 ? 'left' : 'right' }));
  return [
    `${machineLine(result)}; load average ${result.load_average}`,
    `${grouped(result.orders)} orders, events of ${result.bytes_per_event} bytes, medians of ${result.rounds} rounds; ms of processor time for an event`,
    '',
    renderTable(columns, rowsOf(result), 100),
    footprintLine(result),
  ].join('\n');
}

export function renderMarkdown(result: ProjectorBenchResult): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    `Measured on ${result.date}: ${machineLine(result)}; load average ${result.load_average} when it began. Events of ${result.bytes_per_event} bytes.`,
    '',
    `\`${result.command}\``,
    '',
    line(TITLES),
    line(TITLES.map((_, index) => (index < 2 ? '---' : '--:'))),
    ...rowsOf(result).map(line),
    '',
    footprintLine(result),
  ].join('\n');
}

function machineLine({ machine }: ProjectorBenchResult): string {
  return `${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, Node ${machine.node}, MongoDB ${machine.mongodb}`;
}

function rowsOf({ sides, ratios }: ProjectorBenchResult): string[][] {
  return PHASES.flatMap(([phase, title]) =>
    sides.map((side) => {
      const ratio = ratios.find(({ than }) => than === side.name);
      return [
        side.name,
        title,
        ...paceCells(side[phase]),
        phase === 'all' ? String(side.peak_mib) : '',
        ratio === undefined ? '' : `${ratio[phase].toFixed(2)}×`,
      ];
    }),
  );
}

function paceCells({ events_per_second: rate, writer_cpu: writer, mongod_cpu: mongod }: Pace): string[] {
  const milliseconds = (value: number | null) => (value === null ? '–' : value.toFixed(3));
  return [
    grouped(rate),
    milliseconds(writer),
    milliseconds(mongod),
    milliseconds(mongod === null ? null : writer + mongod),
  ];
}

function footprintLine({ footprint: { document, indexes, nodes } }: ProjectorBenchResult): string {
  const each = Object.entries(indexes).map(([name, bytes]) => `${name} ${bytes}`);
  return `An order of ours takes on disk ${document} bytes for the document, ${each.join(', ')} bytes for indexes, and ${nodes} bytes for nodes of its tree.`;
}
