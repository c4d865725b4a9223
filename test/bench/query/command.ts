/** `npm run bench -- query`: the data endpoints beside the same work done the usual way. */
import type { Command } from 'commander';
import { runAndPresent, runToEnd, show } from '../run-and-present.ts';
import { say } from '../say.ts';
import { addShowing, atLeast, connectionsOption, roundsOption, secondsOption } from '../options.ts';
import type { QueryBenchOptions } from './options.ts';
import { renderMarkdown } from './report/markdown.ts';
import { renderScreen } from './report/screen.ts';
import { runQueryBench } from './run.ts';
import { checkScaleDocs, writeScaleDocs } from './scale/report/docs.ts';
import { renderScaleScreen } from './scale/report/screen.ts';
import { runScaleBench } from './scale/run.ts';

export function addQueryBench(program: Command): void {
  const command = program
    .command('query')
    .description('Every data endpoint, beside the same work done with Fastify and the MongoDB driver.')
    .option('--records <number>', 'records of each kind in the store', atLeast(100), 10_000)
    .option(
      '--orders <number>',
      'measure counts and pages in a store of so many orders instead',
      atLeast(20_000),
    )
    .option('--customers <number>', 'the same for customers, alone or together', atLeast(20_000))
    .addOption(connectionsOption())
    .addOption(secondsOption(3))
    .addOption(roundsOption(3))
    .option('--only <text>', 'only requests whose name contains this');
  addShowing(command).action(async (options: QueryBenchOptions) => {
    const isAtScale = options.orders !== undefined || options.customers !== undefined;
    return isAtScale ? measureScale(options) : measureEndpoints(options);
  });
}

async function measureEndpoints(options: QueryBenchOptions): Promise<void> {
  await runAndPresent((cleanup) => runQueryBench(options, say, cleanup), {
    section: 'query',
    json: options.json,
    writeDocs: options.writeDocs,
    screen: renderScreen,
    markdown: renderMarkdown,
  });
}

async function measureScale(options: QueryBenchOptions): Promise<void> {
  const { orders = 0, customers = 0, writeDocs } = options;
  if (writeDocs) await checkScaleDocs({ orders, customers });
  const result = await runToEnd((cleanup) => runScaleBench(options, say, cleanup));
  show(options, result, renderScaleScreen(result));
  if (writeDocs) await writeScaleDocs(result);
}
