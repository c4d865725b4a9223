/**
 * `rebuild`, `rollback` and `generations`: makes, lists, flips to and drops sets of read models.
 */
import { Option } from '@commander-js/extra-typings';
import { commandInvalid, notFound } from '#shared/errors.ts';
import { lagOf, sumOfLags } from '#shared/kafka/positions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { pointersIn } from '#shared/read-models/generation.ts';
import { remarkOtherErasures } from '../access/log.ts';
import { type Environment, openEnvironment, openServers } from '../servers.ts';
import { compareWithLive, describeComparison, isAcceptable } from '../generations/compare.ts';
import {
  dropGeneration,
  flip,
  groupsOf,
  beginRebuild,
  building,
  catchUp,
} from '../generations/rebuild.ts';
import { unlessKafkaIsAway } from './lag.ts';
import {
  command,
  environmentOption,
  generationNumber,
  oneEnvironmentOption,
  wholeNumber,
} from '../options.ts';
import {
  markFailed,
  printResult,
  tableOf,
  askFor,
  checkCanAsk,
  formatAge,
  createProgress,
  remark,
  stopSignal,
} from '../output.ts';

const acceptOption = (meaning: string) =>
  new Option('--accept <what>', meaning).choices(['content', 'all'] as const);

export const rebuildCommand = () =>
  command('rebuild', 'Build new read models while the present ones answer, and make them live')
    .addOption(oneEnvironmentOption())
    .option(
      '--share <percent>',
      'how much of its time a projector may spend on it while events arrive (default: 25, or what it began with)',
      wholeNumber(1, 100),
    )
    .option('--wait', 'compare, and leave making it live to "generations flip"')
    .addOption(acceptOption('make it live in spite of differences'))
    .action(async (flags) => {
      await using environment = await openEnvironment(flags);
      const { name } = environment;
      await remarkOtherErasures(environment, [environment.topic]);
      const signal = stopSignal();
      const { number, isResumed } = await beginRebuild(environment, flags.share ?? null);
      remark(`${isResumed ? 'continues' : 'builds'} generation ${number} of ${name}`);
      await catchUp(environment, number, signal);
      const progress = createProgress();
      const comparison = await compareWithLive(environment, number, (stores, of) => {
        if (signal.aborted)
          throw commandInvalid('interrupted: run the command again, it continues');
        progress(`comparing: ${stores} of ${of} stores`);
      });
      const { wait = false, accept } = flags;
      const isHeld = wait || !isAcceptable(comparison, accept);
      const flipped = isHeld ? null : await flip(environment, number);
      printResult(
        { environment: name, generation: number, flipped, comparison },
        `${describeComparison(comparison)}\n${outcome(name, number, flipped, wait)}`,
      );
      if (isHeld && !wait) markFailed();
    });

function outcome(
  environment: string,
  number: number,
  flipped: { from: number; to: number } | null,
  wait: boolean,
): string {
  if (flipped !== null) {
    return `generation ${flipped.to} of ${environment} answers now; "rollback" goes back to ${flipped.from}`;
  }
  const command = `store-data generations flip ${number} --environment ${environment}`;
  return wait
    ? `generation ${number} of ${environment} is ready: "${command}" makes it live`
    : `generation ${number} of ${environment} differs and does not go live: "${command} --accept content" ` +
        `or "--accept all" does so, "generations drop ${number}" gives it up`;
}

export const listCommand = () =>
  command('list', 'List generations')
    .addOption(environmentOption('only that environment'))
    .action(async (flags) => {
      await using servers = await openServers();
      const generations = (
        await Promise.all(servers.environmentsOf(flags).map(listGenerations))
      ).flat();
      const table = tableOf(generations, [
        'environment',
        'number',
        'state',
        ['VERSION', 'projection_version'],
        ['AGE', ({ created_at: since }) => since && formatAge(since)],
        'lag',
        'projectors',
      ]);
      printResult({ generations }, table);
    });

async function listGenerations(environment: Environment) {
  const known = await environment.generations();
  if (known.length === 0) return [];
  const numbers = known.map(({ number }) => number);
  const log = await unlessKafkaIsAway(async () => ({
    ...(await environment.servers.knownBounds(environment.topic)),
    groups: await groupsOf(environment, numbers),
  }));
  return Promise.all(
    known.map(async ({ number, state, db, marker }) => {
      const positions = await readPositions(db, environment.topic);
      const lags =
        log &&
        [...log.leaders.keys()].map((partition) => {
          const bounds = log.bounds.get(partition);
          return bounds === undefined ? null : lagOf(positions.get(partition) ?? null, bounds);
        });
      return {
        environment: environment.name,
        number,
        state,
        database: db.databaseName,
        // Messages that are not applied. `null`: unknown, since Kafka is away, a partition has no
        // leader, or the log is another one.
        lag: lags && sumOfLags(lags),
        projectors: log && (log.groups.get(number)?.members.length ?? 0),
        // `null` if its database has no marker.
        projection_version: marker?.projection_version ?? null,
        created_at: marker?.created_at ?? null,
      };
    }),
  );
}

export const flipCommand = () =>
  command('flip', 'Answer from another generation')
    .argument('[number]', 'the generation (default: the one that is being built)', generationNumber)
    .addOption(oneEnvironmentOption())
    .addOption(acceptOption('in spite of differences'))
    .action(async (given, flags) => {
      await using environment = await openEnvironment(flags);
      const { name } = environment;
      const built = building(await environment.generations())?.number;
      const number = given ?? built;
      if (number === undefined)
        throw notFound(`no generation of ${name} is being built: give its number`);
      if (number === built && flags.accept !== 'all') {
        const comparison = await compareWithLive(environment, number);
        if (!isAcceptable(comparison, flags.accept)) {
          throw commandInvalid(
            `generation ${number} of ${name} differs from the live one; --accept makes it live:\n` +
              describeComparison(comparison),
          );
        }
      }
      await flipAndPrint(environment, number);
    });

async function flipAndPrint(
  environment: Environment,
  number: number,
  patienceMs?: number | null,
): Promise<void> {
  const { from, to } = await flip(environment, number, patienceMs);
  const { name } = environment;
  printResult(
    { environment: name, from, to },
    `generation ${to} of ${name} answers now instead of ${from}`,
  );
}

/** Short: a rollback is urgent. */
const ROLLBACK_MS = 5_000;

export const rollbackCommand = () =>
  command('rollback', 'Answer from the generation that was live before')
    .addOption(oneEnvironmentOption())
    .option('--force', 'even if it lacks messages, which it applies later')
    .action(async (flags) => {
      await using environment = await openEnvironment(flags);
      const { name } = environment;
      const { previous } =
        (await pointersIn(await environment.servers.control()).findOne({ _id: name })) ?? {};
      if (previous === undefined) throw notFound(`${name} has no generation to go back to`);
      await flipAndPrint(environment, previous, flags.force ? null : ROLLBACK_MS);
    });

export const dropCommand = () =>
  command('drop', 'Remove a generation that is not live, for good')
    .argument('<number>', 'the generation', generationNumber)
    .addOption(oneEnvironmentOption())
    .option('-y, --yes', 'do not ask')
    .action(async (number, flags) => {
      checkCanAsk(flags, 'drop a generation for good');
      await using environment = await openEnvironment(flags);
      const what = `generation ${number} of ${environment.name}`;
      await askFor(
        flags,
        `Drop ${what} for good? No rollback to it is possible then.`,
        'nothing was dropped',
      );
      await dropGeneration(environment, number);
      printResult({ environment: environment.name, dropped: number }, `${what} is dropped`);
    });
