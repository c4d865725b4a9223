/** `npm run bench -- projector`: events a second, beside the MongoDB Kafka Sink Connector and beside us without rank trees. */
import type { Command } from 'commander';
import { stopRequested, type StopRequest } from '#local/start/signals.ts';
import { writeSection } from '../docs-section.ts';
import { atLeast } from '../query/options.ts';
import { say } from '../say.ts';
import { runBacklogBench } from './backlog/run.ts';
import { renderBacklog } from './backlog/report.ts';
import { renderMarkdown, renderScreen } from './report.ts';
import { runProjectorBench } from './run.ts';

export interface ProjectorBenchOptions {
  orders: number;
  rounds: number;
  backlog?: number;
  only?: string[];
  json?: true;
  writeDocs?: true;
}

export function addProjectorBench(program: Command): void {
  program
    .command('projector')
    .description('Events a second of the projector, beside the MongoDB Kafka Sink Connector.')
    .option('--orders <number>', 'orders that are created, and then all changed', atLeast(1_000), 100_000)
    .option('--rounds <number>', 'measurements of each side, taken in turn', atLeast(1), 3)
    .option('--only <sides...>', 'other sides that are measured: connector, "without trees"')
    .option(
      '--backlog <number>',
      'instead: peak memory of the projector with so many events waiting',
      atLeast(1),
    )
    .option('--json', 'print the result as JSON')
    .option('--write-docs', 'put the result into docs/benchmarks.md')
    .action(async (options: ProjectorBenchOptions) => {
      const { backlog, json, writeDocs } = options;
      if (backlog === undefined) {
        await present('projector', (cleanup) => runProjectorBench(options, say, cleanup), {
          json,
          writeDocs,
          screen: renderScreen,
          markdown: renderMarkdown,
        });
      } else {
        await present('projector-backlog', (cleanup) => runBacklogBench(backlog, say, cleanup), {
          json,
          writeDocs,
          screen: renderBacklog,
          markdown: renderBacklog,
        });
      }
    });
}

interface Presentation<R> {
  json: true | undefined;
  writeDocs: true | undefined;
  screen: (result: R) => string;
  markdown: (result: R) => string;
}

async function present<R extends object>(
  section: string,
  run: (cleanup: AsyncDisposableStack) => Promise<R>,
  { json, writeDocs, screen, markdown }: Presentation<R>,
): Promise<void> {
  const ended = await runUntilStopped(run);
  if ('exitCode' in ended) process.exit(ended.exitCode);
  process.stdout.write(`${json ? JSON.stringify(ended, null, 2) : screen(ended)}\n`);
  if (writeDocs) await writeSection(section, markdown(ended));
}

/** Ends everything that was started, also when a signal comes first. */
async function runUntilStopped<R>(
  run: (cleanup: AsyncDisposableStack) => Promise<R>,
): Promise<R | StopRequest> {
  const cleanup = new AsyncDisposableStack();
  const running = run(cleanup);
  try {
    return await Promise.race([running, stopRequested()]);
  } finally {
    // What ends it now are our own doings.
    running.catch(() => undefined);
    await cleanup.disposeAsync();
  }
}
