/** `npm run bench -- freshness`: from an event's `time` to the API's answer. */
import type { Command } from 'commander';
import { addShowing, atLeast, secondsOption } from '../options.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { say } from '../say.ts';
import { renderMarkdown, renderScreen } from './report.ts';
import { type FreshnessOptions, runFreshnessBench } from './run.ts';

export function addFreshnessBench(program: Command): void {
  const command = program
    .command('freshness')
    .description('How long it takes from an event’s time until the API shows it.')
    .option('--rate <number>', 'new orders a second', atLeast(1), 1_000)
    .addOption(secondsOption(10))
    .option('--backlog <number>', 'events that wait on another partition', atLeast(1), 60_000)
    .option('--every <number>', 'milliseconds between a client’s requests', atLeast(1), 50);
  addShowing(command).action(async ({ json, writeDocs, ...options }: FreshnessOptions & Showing) => {
    await runAndPresent((cleanup) => runFreshnessBench(options, say, cleanup), {
      section: 'freshness',
      json,
      writeDocs,
      screen: renderScreen,
      markdown: renderMarkdown,
    });
  });
}
