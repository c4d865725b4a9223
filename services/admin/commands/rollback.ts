/** `rollback`: back to the generation that was live before, within a second. */
import { Command } from '@commander-js/extra-typings';
import { withServers } from '../connection/servers.ts';
import { chooseEnvironment, environmentOption, jsonOption } from '../options.ts';
import { printResult } from '../output/print.ts';
import { flip, previousOf } from '../rebuild/flip.ts';
import { installationOf } from '../rebuild/installation.ts';

/** Who goes back is in a hurry. */
const PATIENCE_MS = 5_000;

const HELP = `
It went on being projected, so that nothing is lost; where it lacks messages
that the live one has, the command says so and ends. Done again it goes forth
again.

Example:
  npm run store-data -- rollback -e production`;

export const rollbackCommand = () =>
  new Command('rollback')
    .description('Answer from the generation that was live before')
    .addOption(environmentOption('environment; needed where there are several'))
    .option('--force', 'even if it lacks messages, which it applies later')
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action((flags) =>
      withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const installation = await installationOf(servers);
        const previous = await previousOf(installation, environment);
        const { from, to } = await flip(installation, environment, previous, {
          force: flags.force === true,
          patienceMs: PATIENCE_MS,
        });
        const text = `generation ${to} of ${environment} answers now instead of ${from}`;
        printResult(flags, { environment, from, to }, text);
      }),
    );
