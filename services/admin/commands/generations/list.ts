/** `generations list`: which generations there are, how far they are, and whether somebody projects them. */
import type { Command } from 'commander';
import { withServers } from '../../connection/servers.ts';
import { chooseEnvironments, environmentOption, jsonOption } from '../../options.ts';
import { formatAge } from '../../output/durations.ts';
import { print, printJson } from '../../output/print.ts';
import { renderTable } from '../../output/table.ts';
import { installationOf } from '../../rebuild/installation.ts';
import { type GenerationStatus, listGenerations } from '../../rebuild/list.ts';

interface Flags {
  environment?: string;
  json?: true;
}

const HELP = `
"live" answers; "building" is being filled; "kept" was live and goes on being
projected; "dropping" is about to go. VERSION is that of the projection, and
belongs to a release.

Example:
  npm run store-data -- generations list -e production`;

export function addListCommand(generations: Command): void {
  generations
    .command('list')
    .description('List generations')
    .addOption(environmentOption('only that environment'))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(list);
}

async function list(flags: Flags): Promise<void> {
  await withServers(async (servers) => {
    const installation = await installationOf(servers);
    const found: GenerationStatus[] = [];
    for (const environment of chooseEnvironments(servers.config, flags.environment)) {
      found.push(...(await listGenerations(installation, environment)));
    }
    if (flags.json) printJson({ generations: found.map(toJson) });
    else print(toTable(found));
  });
}

function toTable(found: readonly GenerationStatus[]): string {
  return renderTable(
    [
      { title: 'ENVIRONMENT' },
      { title: 'NUMBER', align: 'right' },
      { title: 'STATE' },
      { title: 'VERSION', align: 'right' },
      { title: 'AGE', align: 'right' },
      { title: 'LAG', align: 'right' },
      { title: 'PROJECTORS', align: 'right' },
    ],
    found.map(({ environment, number, state, projectionVersion, createdAt, lag, projectors }) => [
      environment,
      String(number),
      state,
      projectionVersion === null ? '-' : String(projectionVersion),
      createdAt === null ? '-' : formatAge(createdAt),
      String(lag),
      String(projectors),
    ]),
  );
}

function toJson({ projectionVersion, createdAt, ...rest }: GenerationStatus): object {
  return { ...rest, projection_version: projectionVersion, created_at: createdAt };
}
