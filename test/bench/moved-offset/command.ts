/** `npm run bench -- moved-offset`: what it costs that a store's offset has moved, until its bodies are rewritten. */
import type { Command } from 'commander';
import { addShowing, atLeast, connectionsOption, roundsOption, secondsOption } from '../options.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { say } from '../say.ts';
import { render } from './report.ts';
import { type MovedOffsetOptions, runMovedOffsetBench } from './run.ts';

export function addMovedOffsetBench(program: Command): void {
  const command = program
    .command('moved-offset')
    .description('A page of orders made for another offset, and the rewriting of a store beside live events.')
    .option('--orders <number>', 'orders of the store that is rewritten', atLeast(1_000), 30_000)
    .option('--rate <number>', 'events a second of another store meanwhile', atLeast(1), 200)
    .addOption(connectionsOption())
    .addOption(secondsOption(3))
    .addOption(roundsOption(5, 'of each kind of page, taken in turn'));
  addShowing(command).action(async ({ json, writeDocs, ...options }: MovedOffsetOptions & Showing) => {
    await runAndPresent((cleanup) => runMovedOffsetBench(options, say, cleanup), {
      section: 'moved-offset',
      json,
      writeDocs,
      screen: render,
      markdown: render,
    });
  });
}
