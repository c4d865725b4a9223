/** `generations drop`: removes a generation's database and its consumer group for good. */
import { Command } from '@commander-js/extra-typings';
import { withServers } from '../../connection/servers.ts';
import { chooseEnvironment, environmentOption, generationNumber, jsonOption } from '../../options.ts';
import { askFor, checkCanAsk } from '../../output/confirm.ts';
import { printResult } from '../../output/print.ts';
import { dropGeneration } from '../../rebuild/drop.ts';
import { installationOf } from '../../rebuild/installation.ts';

const HELP = `
Projectors and query services are told first, and then have a few seconds to
leave it. The live one is never dropped. On a terminal the command asks first;
elsewhere it needs --yes.

Example:
  npm run store-data -- generations drop 3 -e production`;

export const dropCommand = () =>
  new Command('drop')
    .description('Remove a generation that is not live, for good')
    .argument('<number>', 'the generation', generationNumber)
    .addOption(environmentOption('environment; needed where there are several'))
    .option('-y, --yes', 'do not ask')
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(async (number, flags) => {
      checkCanAsk(flags, 'drop a generation for good');
      await withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const question = `Drop generation ${number} of ${environment} for good? No rollback leads to it then.`;
        await askFor(flags, question, 'nothing was dropped');
        await dropGeneration(await installationOf(servers), environment, number);
        const text = `generation ${number} of ${environment} is dropped`;
        printResult(flags, { environment, dropped: number }, text);
      });
    });
