/** What every result begins with, and its tables, as docs/benchmarks.md and a terminal show them alike. */
import type { Machine } from './machine.ts';

/** On what, and by which command, a result was measured. */
export function measuredOn(result: { date: string; machine: Machine; command: string }, more = ''): string {
  const { cores, cpu, memory_gib: memory, node, mongodb } = result.machine;
  const machine = `${cores} cores (${cpu}), ${memory} GiB, Node ${node}, MongoDB ${mongodb}`;
  return `Measured on ${result.date}: ${machine}${more}.\n\n\`${result.command}\`\n`;
}

/** A table in Markdown: the first column to the left, figures to the right. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [titles, ...rows];
  const widths = titles.map((_, column) => Math.max(3, ...all.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map(
    (width, column) => '-'.repeat(width - (column === 0 ? 0 : 1)) + (column === 0 ? '' : ':'),
  );
  return [line(titles), line(rule), ...rows.map(line), ''].join('\n');
}

/** A whole number with its thousands apart. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
