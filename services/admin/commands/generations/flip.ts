/** `generations flip`: takes a generation into use that was filled before. */
import { Command } from '@commander-js/extra-typings';
import { StoreDataError } from '#shared/errors.ts';
import { findGenerations } from '#shared/read-models/generation.ts';
import { withServers } from '../../connection/servers.ts';
import { chooseEnvironment, environmentOption, generationNumber, jsonOption } from '../../options.ts';
import { printResult } from '../../output/print.ts';
import { building } from '../../rebuild/begin.ts';
import { describeComparison } from '../../rebuild/report.ts';
import { type Acceptance, unacceptable } from '../../rebuild/comparison.ts';
import { flip } from '../../rebuild/flip.ts';
import { type InstallationServers, installationOf } from '../../rebuild/installation.ts';
import { compareWithLive } from '../../rebuild/rebuild.ts';
import { acceptance } from '../rebuild.ts';

const HELP = `
One that never answered is compared with the live one before, unless --accept
all.

Examples:
  npm run store-data -- generations flip -e production
  npm run store-data -- generations flip 4 -e production --accept content`;

export const flipCommand = () =>
  new Command('flip')
    .description('Answer from another generation')
    .argument('[number]', 'the generation; by default the one that is being built', generationNumber)
    .addOption(environmentOption('environment; needed where there are several'))
    .option('--accept <what>', 'in spite of differences: content, all', acceptance, 'nothing')
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action((given, flags) =>
      withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const installation = await installationOf(servers);
        const { mongodb, prefix } = installation;
        const built = building(await findGenerations(mongodb, prefix, environment))?.number;
        const number = given ?? built;
        if (number === undefined) {
          throw new StoreDataError(
            'not_found',
            `no generation of ${environment} is being built: give its number`,
          );
        }
        if (number === built) await checkDifferences(installation, environment, number, flags.accept);
        const flipped = await flip(installation, environment, number);
        const text = `generation ${flipped.to} of ${environment} answers now instead of ${flipped.from}`;
        printResult(flags, { environment, ...flipped }, text);
      }),
    );

async function checkDifferences(
  installation: InstallationServers,
  environment: string,
  number: number,
  accepted: Acceptance,
): Promise<void> {
  if (accepted === 'all') return;
  const comparison = await compareWithLive(installation, environment, number, () => undefined);
  if (unacceptable(comparison, accepted).length === 0) return;
  throw new StoreDataError(
    'command_invalid',
    `generation ${number} of ${environment} differs from the live one, and --accept does not say that it may:\n${describeComparison(comparison)}`,
  );
}
