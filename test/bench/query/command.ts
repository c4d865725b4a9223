/** `npm run bench -- query`: the data endpoints beside the same work done the usual way. */
import type { Command } from 'commander';
import { stopRequested, type StopRequest } from '#local/start/signals.ts';
import { writeSection } from '../docs-section.ts';
import { say } from '../say.ts';
import { atLeast, type QueryBenchOptions } from './options.ts';
import { renderMarkdown } from './report/markdown.ts';
import { renderScreen } from './report/screen.ts';
import type { QueryBenchResult } from './result.ts';
import { runQueryBench } from './run.ts';

export function addQueryBench(program: Command): void {
  program
    .command('query')
    .description('Every data endpoint, beside the same work done with Fastify and the MongoDB driver.')
    .option('--records <number>', 'records of each kind in the store', atLeast(100), 10_000)
    .option('--connections <number>', 'connections that ask at the same time', atLeast(1), 20)
    .option('--seconds <number>', 'length of one measurement', atLeast(1), 3)
    .option('--rounds <number>', 'measurements of each side, taken in turn', atLeast(1), 3)
    .option('--only <text>', 'only requests whose name contains this')
    .option('--json', 'print the result as JSON')
    .option('--write-docs', 'put the result into docs/benchmarks.md')
    .action(async (options: QueryBenchOptions) => {
      const ended = await runUntilStopped(options);
      if ('exitCode' in ended) process.exit(ended.exitCode);
      process.stdout.write(options.json ? `${JSON.stringify(ended, null, 2)}\n` : renderScreen(ended));
      if (options.writeDocs) await writeSection('query', renderMarkdown(ended));
    });
}

/** Ends everything that was started, also when a signal comes first. */
async function runUntilStopped(options: QueryBenchOptions): Promise<QueryBenchResult | StopRequest> {
  const cleanup = new AsyncDisposableStack();
  const running = runQueryBench(options, say, cleanup);
  try {
    return await Promise.race([running, stopRequested()]);
  } finally {
    // What ends it now are our own doings.
    running.catch(() => undefined);
    await cleanup.disposeAsync();
  }
}
