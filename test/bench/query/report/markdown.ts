/** The result for `docs/benchmarks.md`: it replaces what lies between two marks, the rest is written by hand. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { QueryBenchResult } from '../result.ts';
import { cellsOf, TITLES } from './columns.ts';
import { verdict } from './verdict.ts';

const FILE = join(import.meta.dirname, '../../../../docs/benchmarks.md');
const BEGIN = '<!-- query: begin -->';
const END = '<!-- query: end -->';

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

/** Puts it into the file. */
export async function writeDocs(markdown: string): Promise<void> {
  const text = await readFile(FILE, 'utf8');
  const [before, rest] = text.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`${FILE} lacks ${BEGIN} … ${END}`);
  const written = `${before}${BEGIN}\n\n${markdown}\n\n${END}${after}`;
  await writeFile(FILE, await format(written, { ...(await resolveConfig(FILE)), filepath: FILE }));
}
