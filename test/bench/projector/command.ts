/** `npm run bench -- projector`: events a second, beside the MongoDB Kafka Sink Connector and beside us without rank trees. */
import type { Command } from 'commander';
import { addShowing, atLeast, roundsOption } from '../options.ts';
import { runAndPresent } from '../run-and-present.ts';
import { say } from '../say.ts';
import { runBacklogBench } from './backlog/run.ts';
import { renderBacklog } from './backlog/report.ts';
import type { ProjectorBenchOptions } from './options.ts';
import { renderMarkdown, renderScreen } from './report.ts';
import { runProjectorBench } from './run.ts';

export function addProjectorBench(program: Command): void {
  const command = program
    .command('projector')
    .description('Events a second of the projector, beside the MongoDB Kafka Sink Connector.')
    .option('--orders <number>', 'orders that are created, and then all changed', atLeast(1_000), 100_000)
    .addOption(roundsOption(3))
    .option('--only <sides...>', 'other sides that are measured: connector, "without trees"')
    .option(
      '--backlog <number>',
      'instead: peak memory of the projector with so many events waiting',
      atLeast(1),
    );
  addShowing(command).action(async (options: ProjectorBenchOptions) => {
    const { backlog, json, writeDocs } = options;
    if (backlog === undefined) {
      await runAndPresent((cleanup) => runProjectorBench(options, say, cleanup), {
        section: 'projector',
        json,
        writeDocs,
        screen: renderScreen,
        markdown: renderMarkdown,
      });
    } else {
      await runAndPresent((cleanup) => runBacklogBench(backlog, say, cleanup), {
        section: 'projector-backlog',
        json,
        writeDocs,
        screen: renderBacklog,
        markdown: renderBacklog,
      });
    }
  });
}
