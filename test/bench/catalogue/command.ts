/** `npm run bench -- catalogue`: catalogues whose groups many products share, as they change and as they are read. */
import type { Command } from 'commander';
import { addShowing, atLeast, connectionsOption, roundsOption } from '../options.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { say } from '../say.ts';
import { render } from './report.ts';
import { type CatalogueOptions, runCatalogueBench } from './run.ts';

export function addCatalogueBench(program: Command): void {
  const command = program
    .command('catalogue')
    .description(
      'Changes of groups that many products share, what others feel of them, menus and product lists.',
    )
    .option('--products <number>', 'products that share a group', atLeast(100), 2_000)
    .option('--stores <number>', 'small stores that are asked in turn', atLeast(10), 200)
    .option('--rate <number>', 'orders a second of two other stores', atLeast(1), 50)
    .addOption(connectionsOption())
    .addOption(roundsOption(5, 'of each request'));
  addShowing(command).action(async ({ json, writeDocs, ...options }: CatalogueOptions & Showing) => {
    await runAndPresent((cleanup) => runCatalogueBench(options, say, cleanup), {
      section: 'catalogue',
      json,
      writeDocs,
      screen: render,
      markdown: render,
    });
  });
}
