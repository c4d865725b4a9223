/** `npm run bench -- access`: tokens beside oidc-provider, and what the access path costs a data request. */
import type { Command } from 'commander';
import { addShowing, connectionsOption, roundsOption, secondsOption } from '../options.ts';
import type { AccessBenchOptions } from './options.ts';
import { runAndPresent } from '../run-and-present.ts';
import { say } from '../say.ts';
import { renderMarkdown, renderScreen } from './report.ts';
import { runAccessBench } from './run.ts';

export function addAccessBench(program: Command): void {
  const command = program
    .command('access')
    .description('Tokens a second beside oidc-provider, and what access costs a data request.')
    .addOption(connectionsOption())
    .addOption(secondsOption(3))
    .addOption(roundsOption(3))
    .option('--tokens-only', 'nothing but the tokens');
  addShowing(command).action(async (options: AccessBenchOptions) => {
    await runAndPresent((cleanup) => runAccessBench(options, say, cleanup), {
      section: 'access',
      json: options.json,
      writeDocs: options.writeDocs,
      screen: renderScreen,
      markdown: renderMarkdown,
    });
  });
}
