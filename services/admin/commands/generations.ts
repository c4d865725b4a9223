/** `rebuild`, `rollback` and `generations`: the sets of read models that there are, which of them answers, and what becomes of them. */
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { commandInvalid, notFound } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { countApplied, readLogBounds } from '#shared/kafka/positions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { findGenerations, generationGroup } from '#shared/read-models/generation.ts';
import { remarkOtherErasures } from '../access/log.ts';
import { inEnvironment, withServers } from '../connection/servers.ts';
import {
  type Acceptance,
  comparisonJson,
  compareWithLive,
  describeComparison,
  unacceptable,
} from '../generations/compare.ts';
import {
  dropGeneration,
  type EnvironmentServers,
  flip,
  type Flipped,
  previousOf,
  serversOf,
} from '../generations/flip.ts';
import { beginRebuild, building, catchUp } from '../generations/rebuild.ts';
import {
  chooseEnvironments,
  environmentOption,
  generationNumber,
  jsonOption,
  oneEnvironmentOption,
  wholeNumber,
} from '../options.ts';
import { type JsonFlag, markFailed, printResult, tableOf } from '../output/print.ts';
import { askFor, checkCanAsk, formatAge, ProgressLine, stopSignal } from '../output/terminal.ts';

/** An option that says which differences are accepted. */
function acceptance(text: string): Acceptance {
  if (text === 'content' || text === 'all') return text;
  throw new InvalidArgumentError('Differences that can be accepted are content and all.');
}

export const rebuildCommand = () =>
  new Command('rebuild')
    .description('Make the read models anew beside the present ones, and take them into use')
    .addOption(oneEnvironmentOption())
    .option(
      '--share <percent>',
      'how much of its time a projector may spend on it while events arrive; 25, or as begun',
      wholeNumber(1, 100),
    )
    .option('--wait', 'compare, but leave it to "generations flip" to take it into use')
    .option(
      '--accept <what>',
      'take it into use in spite of differences: content, all',
      acceptance,
      'nothing',
    )
    .addOption(jsonOption())
    .action((flags) =>
      inEnvironment(flags, async (all, environment) => {
        const servers = await serversOf(all, environment);
        await remarkOtherErasures(all, environment, [changesTopic(environment)]);
        const line = new ProgressLine();
        const signal = stopSignal();
        try {
          const { number, isResumed } = await beginRebuild(servers, flags.share ?? null);
          line.say(`${isResumed ? 'goes on with' : 'builds'} generation ${number} of ${environment}`);
          await catchUp(servers, number, line, signal);
          const comparison = await compareWithLive(servers, number, (stores, of) =>
            line.show(`comparing: ${stores} of ${of} stores`),
          );
          const isHeld = flags.wait === true || unacceptable(comparison, flags.accept).length > 0;
          const flipped = isHeld ? null : await flip(servers, number);
          line.clear();
          printResult(
            flags,
            { environment, generation: number, flipped, comparison: comparisonJson(comparison) },
            `${describeComparison(comparison)}\n${outcome(environment, number, flipped, flags.wait === true)}`,
          );
          if (flipped === null && flags.wait !== true) markFailed();
        } finally {
          line.clear();
        }
      }),
    );

function outcome(environment: string, number: number, flipped: Flipped | null, wait: boolean): string {
  if (flipped !== null) {
    return `generation ${flipped.to} of ${environment} answers now; "rollback" goes back to ${flipped.from}`;
  }
  const command = `store-data generations flip ${number} --environment ${environment}`;
  return wait
    ? `generation ${number} of ${environment} is ready: "${command}" takes it into use`
    : `generation ${number} of ${environment} differs and is not taken into use: "${command} --accept content" or "--accept all" does so, "generations drop ${number}" gives it up`;
}

export const listCommand = () =>
  new Command('list')
    .description('List generations')
    .addOption(environmentOption('only that environment'))
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const generations: GenerationRow[] = [];
        for (const environment of chooseEnvironments(servers.config, flags.environment)) {
          generations.push(...(await listGenerations(await serversOf(servers, environment))));
        }
        const table = tableOf(generations, [
          ['ENVIRONMENT', 'environment'],
          ['NUMBER', 'number', 'right'],
          ['STATE', 'state'],
          ['VERSION', (one) => one.projection_version ?? '-', 'right'],
          ['AGE', (one) => (one.created_at === null ? '-' : formatAge(one.created_at)), 'right'],
          ['LAG', 'lag', 'right'],
          ['PROJECTORS', 'projectors', 'right'],
        ]);
        printResult(flags, { generations }, table);
      }),
    );

type GenerationRow = Awaited<ReturnType<typeof listGenerations>>[number];

/** The generations of an environment, in the order of their numbers. */
async function listGenerations({ environment, databases, kafka, prefix }: EnvironmentServers) {
  const known = await findGenerations(databases, environment);
  if (known.length === 0) return [];
  const topic = changesTopic(environment);
  const bounds = await readLogBounds(kafka, topic);
  const groupOf = (number: number) => generationGroup(prefix, environment, number);
  const { groups } = await kafka.describeGroups(known.map(({ number }) => groupOf(number)));
  const members = new Map(groups.map((group) => [group.groupId, group.members.length]));
  return Promise.all(
    known.map(async ({ number, state, db, marker }) => {
      const { applied, total } = countApplied(await readPositions(db, topic), bounds);
      return {
        environment,
        number,
        state,
        database: db.databaseName,
        // Messages that are not applied yet.
        lag: total - applied,
        projectors: members.get(groupOf(number)) ?? 0,
        // `null` where its database has no marker.
        projection_version: marker?.projection_version ?? null,
        created_at: marker?.created_at ?? null,
      };
    }),
  );
}

export const flipCommand = () =>
  new Command('flip')
    .description('Answer from another generation')
    .argument('[number]', 'the generation; by default the one that is being built', generationNumber)
    .addOption(oneEnvironmentOption())
    .option('--accept <what>', 'in spite of differences: content, all', acceptance, 'nothing')
    .addOption(jsonOption())
    .action((given, flags) =>
      inEnvironment(flags, async (all, environment) => {
        const servers = await serversOf(all, environment);
        const built = building(await findGenerations(servers.databases, environment))?.number;
        const number = given ?? built;
        if (number === undefined) {
          throw notFound(`no generation of ${environment} is being built: give its number`);
        }
        if (number === built && flags.accept !== 'all') {
          const comparison = await compareWithLive(servers, number);
          if (unacceptable(comparison, flags.accept).length > 0) {
            throw commandInvalid(
              `generation ${number} of ${environment} differs from the live one, and --accept does not say that it may:\n${describeComparison(comparison)}`,
            );
          }
        }
        printFlipped(flags, environment, await flip(servers, number));
      }),
    );

function printFlipped(flags: JsonFlag, environment: string, flipped: Flipped): void {
  const text = `generation ${flipped.to} of ${environment} answers now instead of ${flipped.from}`;
  printResult(flags, { environment, ...flipped }, text);
}

/** Who goes back is in a hurry. */
const ROLLBACK_MS = 5_000;

export const rollbackCommand = () =>
  new Command('rollback')
    .description('Answer from the generation that was live before')
    .addOption(oneEnvironmentOption())
    .option('--force', 'even if it lacks messages, which it applies later')
    .addOption(jsonOption())
    .action((flags) =>
      inEnvironment(flags, async (all, environment) => {
        const servers = await serversOf(all, environment);
        const previous = await previousOf(servers);
        printFlipped(flags, environment, await flip(servers, previous, flags.force ? null : ROLLBACK_MS));
      }),
    );

export const dropCommand = () =>
  new Command('drop')
    .description('Remove a generation that is not live, for good')
    .argument('<number>', 'the generation', generationNumber)
    .addOption(oneEnvironmentOption())
    .option('-y, --yes', 'do not ask')
    .addOption(jsonOption())
    .action(async (number, flags) => {
      checkCanAsk(flags, 'drop a generation for good');
      await inEnvironment(flags, async (servers, environment) => {
        const question = `Drop generation ${number} of ${environment} for good? No rollback leads to it then.`;
        await askFor(flags, question, 'nothing was dropped');
        await dropGeneration(await serversOf(servers, environment), number);
        const text = `generation ${number} of ${environment} is dropped`;
        printResult(flags, { environment, dropped: number }, text);
      });
    });
