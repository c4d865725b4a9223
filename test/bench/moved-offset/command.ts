/** `npm run bench -- moved-offset`: what it costs that a store's offset has moved, until its bodies are rewritten. */
import type { Command } from 'commander';
import { stopRequested, type StopRequest } from '#local/start/signals.ts';
import { writeSection } from '../docs-section.ts';
import { atLeast } from '../query/options.ts';
import { say } from '../say.ts';
import { render } from './report.ts';
import { type MovedOffsetOptions, type MovedOffsetResult, runMovedOffsetBench } from './run.ts';

export function addMovedOffsetBench(program: Command): void {
  program
    .command('moved-offset')
    .description('A page of orders made for another offset, and the rewriting of a store beside live events.')
    .option('--orders <number>', 'orders of the store that is rewritten', atLeast(1_000), 30_000)
    .option('--rate <number>', 'events a second of another store meanwhile', atLeast(1), 200)
    .option('--connections <number>', 'connections that ask at the same time', atLeast(1), 20)
    .option('--seconds <number>', 'length of one measurement', atLeast(1), 3)
    .option('--rounds <number>', 'measurements of each kind of page, taken in turn', atLeast(1), 5)
    .option('--json', 'print the result as JSON')
    .option('--write-docs', 'put the result into docs/benchmarks.md')
    .action(async (options: MovedOffsetOptions & { json?: true; writeDocs?: true }) => {
      const ended = await runUntilStopped(options);
      if ('exitCode' in ended) process.exit(ended.exitCode);
      process.stdout.write(options.json ? `${JSON.stringify(ended, null, 2)}\n` : `${render(ended)}\n`);
      if (options.writeDocs) await writeSection('moved-offset', render(ended));
    });
}

/** Ends everything that was started, also when a signal comes first. */
async function runUntilStopped(options: MovedOffsetOptions): Promise<MovedOffsetResult | StopRequest> {
  const cleanup = new AsyncDisposableStack();
  const running = runMovedOffsetBench(options, say, cleanup);
  try {
    return await Promise.race([running, stopRequested()]);
  } finally {
    // What ends it now are our own doings.
    running.catch(() => undefined);
    await cleanup.disposeAsync();
  }
}
