/** `generations` and `rollback`: the sets of read models that there are, which of them answers, and what becomes of them. */
import { Command } from '@commander-js/extra-typings';
import { commandInvalid, notFound } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { countApplied, readLogBounds } from '#shared/kafka/positions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { findGenerations, generationGroup, type KnownGeneration } from '#shared/read-models/generation.ts';
import { withServers } from '../connection/servers.ts';
import {
  chooseEnvironment,
  chooseEnvironments,
  environmentOption,
  generationNumber,
  jsonOption,
} from '../options.ts';
import { askFor, checkCanAsk } from '../output/confirm.ts';
import { formatAge } from '../output/durations.ts';
import { printResult, tableOf } from '../output/print.ts';
import { building, compareWithLive } from '../generations/rebuild.ts';
import { installationOf, type InstallationServers } from '../generations/installation.ts';
import { type Acceptance, describeComparison, unacceptable } from '../generations/compare.ts';
import { dropGeneration, flip, previousOf } from '../generations/flip.ts';
import { acceptance } from './rebuild.ts';

export const listCommand = () =>
  new Command('list')
    .description('List generations')
    .addOption(environmentOption('only that environment'))
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const found: GenerationStatus[] = [];
        for (const environment of chooseEnvironments(servers.config, flags.environment)) {
          found.push(...(await listGenerations(await installationOf(servers, environment), environment)));
        }
        printResult(flags, { generations: found.map(toJson) }, toTable(found));
      }),
    );

interface GenerationStatus {
  environment: string;
  number: number;
  state: KnownGeneration['state'];
  /** `null` where its database has no marker. */
  projectionVersion: number | null;
  createdAt: Date | null;
  database: string;
  /** Messages that are not applied yet. */
  lag: number;
  /** How many projectors belong to its consumer group. */
  projectors: number;
}

/** The generations of an environment, in the order of their numbers. */
async function listGenerations(
  servers: InstallationServers,
  environment: string,
): Promise<GenerationStatus[]> {
  const { databases, kafka, prefix } = servers;
  const known = await findGenerations(databases, environment);
  if (known.length === 0) return [];
  const topic = changesTopic(environment);
  const bounds = await readLogBounds(kafka, topic);
  const { groups } = await kafka.describeGroups(
    known.map(({ number }) => generationGroup(prefix, environment, number)),
  );
  const members = new Map(groups.map((group) => [group.groupId, group.members.length]));
  return Promise.all(
    known.map(async ({ number, state, db, marker }): Promise<GenerationStatus> => {
      const { applied, total } = countApplied(await readPositions(db, topic), bounds);
      return {
        environment,
        number,
        state,
        projectionVersion: marker?.projection_version ?? null,
        createdAt: marker?.created_at ?? null,
        database: db.databaseName,
        lag: total - applied,
        projectors: members.get(generationGroup(prefix, environment, number)) ?? 0,
      };
    }),
  );
}

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

export const flipCommand = () =>
  new Command('flip')
    .description('Answer from another generation')
    .argument('[number]', 'the generation; by default the one that is being built', generationNumber)
    .addOption(environmentOption('environment; needed where there are several'))
    .option('--accept <what>', 'in spite of differences: content, all', acceptance, 'nothing')
    .addOption(jsonOption())
    .action((given, flags) =>
      withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const installation = await installationOf(servers, environment);
        const built = building(await findGenerations(installation.databases, environment))?.number;
        const number = given ?? built;
        if (number === undefined) {
          throw notFound(`no generation of ${environment} is being built: give its number`);
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
  throw commandInvalid(
    `generation ${number} of ${environment} differs from the live one, and --accept does not say that it may:\n${describeComparison(comparison)}`,
  );
}

/** Who goes back is in a hurry. */
const PATIENCE_MS = 5_000;

export const rollbackCommand = () =>
  new Command('rollback')
    .description('Answer from the generation that was live before')
    .addOption(environmentOption('environment; needed where there are several'))
    .option('--force', 'even if it lacks messages, which it applies later')
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const installation = await installationOf(servers, environment);
        const previous = await previousOf(installation, environment);
        const { from, to } = await flip(installation, environment, previous, {
          force: flags.force === true,
          patienceMs: PATIENCE_MS,
        });
        const text = `generation ${to} of ${environment} answers now instead of ${from}`;
        printResult(flags, { environment, from, to }, text);
      }),
    );

export const dropCommand = () =>
  new Command('drop')
    .description('Remove a generation that is not live, for good')
    .argument('<number>', 'the generation', generationNumber)
    .addOption(environmentOption('environment; needed where there are several'))
    .option('-y, --yes', 'do not ask')
    .addOption(jsonOption())
    .action(async (number, flags) => {
      checkCanAsk(flags, 'drop a generation for good');
      await withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const question = `Drop generation ${number} of ${environment} for good? No rollback leads to it then.`;
        await askFor(flags, question, 'nothing was dropped');
        await dropGeneration(await installationOf(servers, environment), environment, number);
        const text = `generation ${number} of ${environment} is dropped`;
        printResult(flags, { environment, dropped: number }, text);
      });
    });
