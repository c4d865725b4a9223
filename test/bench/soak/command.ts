/** `npm run soak`: hours of light, mixed load, and whether anything grows meanwhile. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { writeSection } from '../docs-section.ts';
import { addShowing, atLeast, secondsOption } from '../options.ts';
import { runToEnd, show, type Showing } from '../run-and-present.ts';
import { say } from '../say.ts';
import { drawSoak } from './chart.ts';
import { CHART, renderMarkdown, renderScreen } from './report.ts';
import { parseRecord, type SoakOptions } from './result.ts';
import { runSoak } from './run.ts';
import { judge } from './verdict.ts';

const FOLDER = join(import.meta.dirname, '../../../docs');

export function addSoak(program: Command): void {
  const command = program
    .command('soak')
    .description('A light, mixed load for hours: memory, handles, connections, latency, and a verdict.')
    .addOption(secondsOption(7_200))
    .option('--stores <number>', 'stores at work', atLeast(1), 50)
    .option('--events-per-second <number>', 'events of all stores, about', atLeast(1), 20)
    .option('--requests-per-second <number>', 'requests of all clients', atLeast(1), 40)
    .option('--every <number>', 'seconds between two samples', atLeast(1), 60)
    .option('--file <path>', 'where each sample is a line of JSON', '.local/soak.jsonl')
    .option('--read', 'show what an earlier soak wrote into the file, instead of running');
  addShowing(command).action(
    async ({ json, writeDocs, read, ...options }: SoakOptions & { file: string; read?: true } & Showing) => {
      const record = read
        ? parseRecord(await readFile(options.file, 'utf8'))
        : await runToEnd((cleanup) => runSoak(options, say, cleanup));
      const verdict = judge(record);
      show({ json }, { ...record.head, ...verdict }, renderScreen(record));
      if (writeDocs) {
        await writeFile(join(FOLDER, CHART), drawSoak(record));
        await writeSection('soak', renderMarkdown(record));
      }
      if (verdict.isLongEnough && !verdict.holds) process.exit(1);
    },
  );
}
