/** `npm run bench -- access`: tokens beside oidc-provider, and what the access path costs a data request. */
import type { Command } from 'commander';
import { stopRequested, type StopRequest } from '#local/start/signals.ts';
import { atLeast } from '../query/options.ts';
import { say } from '../say.ts';
import { renderMarkdown, renderScreen } from './report.ts';
import type { AccessBenchResult } from './result.ts';
import { runAccessBench } from './run.ts';
import { writeSection } from '../docs-section.ts';

export interface AccessBenchOptions {
  connections: number;
  seconds: number;
  rounds: number;
  tokensOnly?: true;
  json?: true;
  writeDocs?: true;
}

export function addAccessBench(program: Command): void {
  program
    .command('access')
    .description('Tokens a second beside oidc-provider, and what access costs a data request.')
    .option('--connections <number>', 'connections that ask at the same time', atLeast(1), 20)
    .option('--seconds <number>', 'length of one measurement', atLeast(1), 3)
    .option('--rounds <number>', 'measurements of each side, taken in turn', atLeast(1), 3)
    .option('--tokens-only', 'nothing but the tokens')
    .option('--json', 'print the result as JSON')
    .option('--write-docs', 'put the result into docs/benchmarks.md')
    .action(async (options: AccessBenchOptions) => {
      const ended = await runUntilStopped(options);
      if ('exitCode' in ended) process.exit(ended.exitCode);
      process.stdout.write(options.json ? `${JSON.stringify(ended, null, 2)}\n` : renderScreen(ended));
      if (options.writeDocs) await writeSection('access', renderMarkdown(ended));
    });
}

/** Ends everything that was started, also when a signal comes first. */
async function runUntilStopped(options: AccessBenchOptions): Promise<AccessBenchResult | StopRequest> {
  const cleanup = new AsyncDisposableStack();
  const running = runAccessBench(options, say, cleanup);
  try {
    return await Promise.race([running, stopRequested()]);
  } finally {
    // What ends it now are our own doings.
    running.catch(() => undefined);
    await cleanup.disposeAsync();
  }
}
