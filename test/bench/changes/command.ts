/** `npm run bench -- changes`: following changes, at any depth, by many who wait, and beside the usual way. */
import type { Command } from 'commander';
import { addShowing, atLeast, roundsOption, secondsOption } from '../options.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { say } from '../say.ts';
import { render } from './report.ts';
import { type ChangesOptions, runChangesBench } from './run.ts';

export function addChangesBench(program: Command): void {
  const command = program
    .command('changes')
    .description('Changes at any depth, clients that wait for them, and what the usual way misses.')
    .option('--records <number>', 'orders of the large store', atLeast(1_000), 1_000_000)
    .option('--waiters <number>', 'clients that wait', atLeast(1), 10_000)
    .option('--stores <number>', 'quiet stores for which they wait', atLeast(1), 500)
    .option('--rate <number>', 'events a second while some wait', atLeast(1), 1_000)
    .option('--connections <number>', 'connections that ask for pages at the same time', atLeast(1), 20)
    .addOption(secondsOption(5))
    .addOption(roundsOption(5, 'of each kind of page, taken in turn'));
  addShowing(command).action(async ({ json, writeDocs, ...options }: ChangesOptions & Showing) => {
    await runAndPresent((cleanup) => runChangesBench(options, say, cleanup), {
      section: 'changes',
      json,
      writeDocs,
      screen: render,
      markdown: render,
    });
  });
}
