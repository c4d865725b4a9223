/** `npm run bench -- access`: tokens beside oidc-provider, and what the access path costs a data request. */
import type { Command } from 'commander';
import { atLeast } from '../query/options.ts';
import type { AccessBenchOptions } from './options.ts';
import { runAndPresent } from '../run-and-present.ts';
import { say } from '../say.ts';
import { renderMarkdown, renderScreen } from './report.ts';
import { runAccessBench } from './run.ts';

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
      await runAndPresent((cleanup) => runAccessBench(options, say, cleanup), {
        section: 'access',
        json: options.json,
        writeDocs: options.writeDocs,
        screen: renderScreen,
        markdown: renderMarkdown,
      });
    });
}
