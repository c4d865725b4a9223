/** `npm run bench -- query`: the data endpoints beside the same work done the usual way. */
import type { Command } from 'commander';
import { addShowing, atLeast, connectionsOption, roundsOption, secondsOption } from '../options.ts';
import { runAndPresent } from '../run-and-present.ts';
import { say } from '../say.ts';
import { type QueryBenchOptions, renderQuery, runQueryBench } from './run.ts';
import { renderScale, runScaleBench } from './scale/run.ts';

export function addQueryBench(program: Command): void {
  const command = program
    .command('query')
    .description(
      'What integrations ask of twenty stores, beside the same work done with Fastify and the MongoDB driver.',
    )
    .option(
      '--records <number>',
      'orders of the largest store; the others have a twentieth and a two thousandth',
      atLeast(2_000),
      200_000,
    )
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
    const { orders = 0, customers = 0, json, writeDocs } = options;
    const showing = { json, writeDocs };
    if (orders + customers === 0) {
      const shown = { section: 'query', screen: renderQuery, markdown: renderQuery, ...showing };
      return runAndPresent((cleanup) => runQueryBench(options, say, cleanup), shown);
    }
    const section = `scale-${Math.max(orders, customers)}`;
    const shown = { section, screen: renderScale, markdown: renderScale, ...showing };
    return runAndPresent((cleanup) => runScaleBench(options, say, cleanup), shown);
  });
}
