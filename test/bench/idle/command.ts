/** `npm run bench -- idle`: what the services cost where nothing happens. */
import type { Command } from 'commander';
import { addShowing, secondsOption } from '../options.ts';
import { type Showing, runAndPresent } from '../run-and-present.ts';
import { say } from '../say.ts';
import { type IdleOptions, type IdleResult, runIdleBench } from './run.ts';

export function addIdleBench(program: Command): void {
  const command = program
    .command('idle')
    .description('Processor time of both services while there are no events and no requests.')
    .addOption(secondsOption(60));
  addShowing(command).action(async ({ json, writeDocs, ...options }: IdleOptions & Showing) => {
    await runAndPresent((cleanup) => runIdleBench(options, say, cleanup), {
      json,
      writeDocs,
      section: 'idle',
      screen: (result) => `${rowsOf(result).join('\n')}\n`,
      markdown: renderMarkdown,
    });
  });
}

function rowsOf({ services }: IdleResult): string[] {
  return services.map(
    ({ name, percent, wakeUps }) => `| ${name} | ${percent} % of a core | ${wakeUps} a second |`,
  );
}

function renderMarkdown(result: IdleResult): string {
  const { machine, date, seconds, environments, partitions } = result;
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), Node ${machine.node}, MongoDB ${machine.mongodb}.`,
    '',
    `\`npm run bench -- idle --seconds ${seconds}\`: ${environments} environments, ${partitions} partitions each.`,
    '',
    '| service | processor time | wake-ups of the main thread |',
    '| --- | --- | --- |',
    ...rowsOf(result),
  ].join('\n');
}
