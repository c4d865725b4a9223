/** `npm run bench -- scale`: what requests and events cost with more stores and more instances. */
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { format } from 'prettier';
import { writeSection } from '../docs-section.ts';
import { addShowing, atLeast, connectionsOption, secondsOption } from '../options.ts';
import { runToEnd, show, type Showing } from '../run-and-present.ts';
import { say } from '../say.ts';
import { drawScale } from './chart.ts';
import { renderMarkdown, renderScreen } from './report.ts';
import { readRecords, type ScaleOptions, type ScaleRecord } from './result.ts';
import { runScaleBench } from './run.ts';

const FOLDER = join(import.meta.dirname, '../../../docs');

export function addScaleBench(program: Command): void {
  const command = program
    .command('scale')
    .description('Cost of requests and events as stores and instances grow.')
    .option(
      '--stores <numbers>',
      'how many stores, one number after the other',
      numbers,
      [1, 10, 100, 1_000, 10_000],
    )
    .option(
      '--instances <numbers>',
      'how many projectors, then query services, side by side',
      numbers,
      [1, 2, 3],
    )
    .option(
      '--orders <number>',
      'orders of each measurement, created and then changed',
      atLeast(1_000),
      8_000,
    )
    .addOption(connectionsOption())
    .addOption(secondsOption(2))
    .option('--file <path>', 'where each result is added as a line of JSON', '.local/scale.jsonl')
    .option('--read', 'show the medians of all that lies in the file, instead of measuring');
  addShowing(command).action(
    async ({
      file,
      read,
      writeDocs,
      json,
      ...options
    }: ScaleOptions & { file: string; read?: true } & Showing) => {
      const measured = read ? null : await runToEnd((cleanup) => measure(options, file, cleanup));
      const records = measured ?? readRecords(await readFile(file, 'utf8'));
      show({ json }, records, renderScreen(records));
      if (!writeDocs) return;
      await writeFile(
        join(FOLDER, 'scale.json'),
        await format(JSON.stringify(records), { parser: 'json', printWidth: 110 }),
      );
      await writeFile(join(FOLDER, 'scale.svg'), drawScale(records));
      await writeSection('scale', renderMarkdown(records));
    },
  );
}

/** Each number of stores is added to the file as soon as it is measured. */
async function measure(
  options: ScaleOptions,
  file: string,
  cleanup: AsyncDisposableStack,
): Promise<ScaleRecord[]> {
  await mkdir(dirname(file), { recursive: true });
  const all: ScaleRecord[] = [];
  for (const stores of options.stores) {
    const own = new AsyncDisposableStack();
    // Ended at a signal, too; ending it twice does nothing.
    cleanup.use(own);
    const records = await runScaleBench(options, stores, say, own);
    await own.disposeAsync();
    await appendFile(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    all.push(...records);
  }
  return all;
}

function numbers(text: string): number[] {
  if (!/^\d{1,6}(,\d{1,6})*$/.test(text))
    throw new InvalidArgumentError('It must be whole numbers, such as 1,10.');
  return text.split(',').map(atLeast(1));
}
