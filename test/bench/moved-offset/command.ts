/** `npm run bench -- moved-offset`: what it costs that a store's offset has moved, until its bodies are rewritten. */
import type { Command } from 'commander';
import { atLeast } from '../query/options.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { say } from '../say.ts';
import { render } from './report.ts';
import { type MovedOffsetOptions, runMovedOffsetBench } from './run.ts';

export function addMovedOffsetBench(program: Command): void {
  program
    .command('moved-offset')
    .description('A page of orders made for another offset, and the rewriting of a store beside live events.')
    .option('--orders <number>', 'orders of the store that is rewritten', atLeast(1_000), 30_000)
    .option('--rate <number>', 'events a second of another store meanwhile', atLeast(1), 200)
    .option('--connections <number>', 'connections that ask at the same time', atLeast(1), 20)
    .option('--seconds <number>', 'length of one measurement', atLeast(1), 3)
    .option('--rounds <number>', 'measurements of each kind of page, taken in turn', atLeast(1), 5)
    .option('--json', 'print the result as JSON')
    .option('--write-docs', 'put the result into docs/benchmarks.md')
    .action(async ({ json, writeDocs, ...options }: MovedOffsetOptions & Showing) => {
      await runAndPresent((cleanup) => runMovedOffsetBench(options, say, cleanup), {
        section: 'moved-offset',
        json,
        writeDocs,
        screen: render,
        markdown: render,
      });
    });
}
