/** `generations drop`: removes a generation's database and its consumer group for good. */
import type { Command } from 'commander';
import { StoreDataError } from '#shared/errors.ts';
import { withServers } from '../../connection/servers.ts';
import { chooseEnvironment, environmentOption, jsonOption, WrongUsage } from '../../options.ts';
import { canAsk, confirm } from '../../output/confirm.ts';
import { print, printJson } from '../../output/print.ts';
import { dropGeneration } from '../../rebuild/drop.ts';
import { installationOf } from '../../rebuild/installation.ts';
import { generationNumber } from './number.ts';

interface Flags {
  environment?: string;
  yes?: true;
  json?: true;
}

const HELP = `
Projectors and query services are told first, and then have a few seconds to
leave it. The live one is never dropped. On a terminal the command asks first;
elsewhere it needs --yes.

Example:
  npm run store-data -- generations drop 3 -e production`;

export function addDropCommand(generations: Command): void {
  generations
    .command('drop')
    .description('Remove a generation that is not live, for good')
    .argument('<number>', 'the generation', generationNumber)
    .addOption(environmentOption('environment; needed where there are several'))
    .option('-y, --yes', 'do not ask')
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(drop);
}

async function drop(number: number, flags: Flags): Promise<void> {
  if (!flags.yes && !canAsk()) {
    throw new WrongUsage('nobody can be asked here: give --yes to drop a generation for good');
  }
  await withServers(async (servers) => {
    const environment = chooseEnvironment(servers.config, flags.environment);
    const question = `Drop generation ${number} of ${environment} for good? No rollback leads to it then.`;
    if (!flags.yes && !(await confirm(question))) {
      throw new StoreDataError('command_invalid', 'nothing was dropped');
    }
    await dropGeneration(await installationOf(servers), environment, number);
    if (flags.json) printJson({ environment, dropped: number });
    else print(`generation ${number} of ${environment} is dropped`);
  });
}
