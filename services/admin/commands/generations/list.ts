/** `generations list`: which generations there are, how far they are, and whether somebody projects them. */
import { Command } from '@commander-js/extra-typings';
import { withServers } from '../../connection/servers.ts';
import { chooseEnvironments, environmentOption, jsonOption } from '../../options.ts';
import { formatAge } from '../../output/durations.ts';
import { printResult } from '../../output/print.ts';
import { tableOf } from '../../output/table.ts';
import { installationOf } from '../../rebuild/installation.ts';
import { type GenerationStatus, listGenerations } from '../../rebuild/list.ts';

const HELP = `
"live" answers; "building" is being filled; "kept" was live and goes on being
projected; "dropping" is about to go. VERSION is that of the projection, and
belongs to a release.

Example:
  npm run store-data -- generations list -e production`;

export const listCommand = () =>
  new Command('list')
    .description('List generations')
    .addOption(environmentOption('only that environment'))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action((flags) =>
      withServers(async (servers) => {
        const installation = await installationOf(servers);
        const found: GenerationStatus[] = [];
        for (const environment of chooseEnvironments(servers.config, flags.environment)) {
          found.push(...(await listGenerations(installation, environment)));
        }
        printResult(flags, { generations: found.map(toJson) }, toTable(found));
      }),
    );

function toTable(found: readonly GenerationStatus[]): string {
  return tableOf(found, [
    ['ENVIRONMENT', ({ environment }) => environment],
    ['NUMBER', ({ number }) => String(number), 'right'],
    ['STATE', ({ state }) => state],
    ['VERSION', ({ projectionVersion: version }) => (version === null ? '-' : String(version)), 'right'],
    ['AGE', ({ createdAt }) => (createdAt === null ? '-' : formatAge(createdAt)), 'right'],
    ['LAG', ({ lag }) => String(lag), 'right'],
    ['PROJECTORS', ({ projectors }) => String(projectors), 'right'],
  ]);
}

function toJson({ projectionVersion, createdAt, ...rest }: GenerationStatus): object {
  return { ...rest, projection_version: projectionVersion, created_at: createdAt };
}
