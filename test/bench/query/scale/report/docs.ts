/** Puts a result at scale into the documentation: a section of its own for each size, and its chart beside it. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeSection } from '../../../docs-section.ts';
import { drawChart } from '../chart/chart.ts';
import type { ScaleResult } from '../result.ts';
import { sizeOf } from './cells.ts';
import { renderScaleMarkdown } from './markdown.ts';

const FOLDER = join(import.meta.dirname, '../../../../../docs');

type Size = Pick<ScaleResult, 'orders' | 'customers'>;

/** @throws unless the documentation has a place for this size: better known before hours of measuring than after. */
export async function checkScaleDocs(size: Size): Promise<void> {
  const text = await readFile(join(FOLDER, 'benchmarks.md'), 'utf8');
  const mark = `<!-- ${nameOf(size)}: begin -->`;
  if (!text.includes(mark))
    throw new Error(`docs/benchmarks.md has no place for this size: it lacks ${mark}`);
}

export async function writeScaleDocs(result: ScaleResult): Promise<void> {
  const chart = `${nameOf(result)}.svg`;
  const title = `Median latency of one connection, at ${sizeOf(result)} in a store`;
  await writeFile(join(FOLDER, chart), drawChart(result.curves, title));
  await writeSection(nameOf(result), renderScaleMarkdown(result, chart));
}

/** Of the section and the chart. */
function nameOf({ orders, customers }: Size): string {
  return `scale-${Math.max(orders, customers)}`;
}
