/**
 * The generation that answers requests, for each environment: the live one if this release made it,
 * else the newest kept one that it made. It is looked up twice a second, so that a flip takes
 * effect within one second.
 */
import { describeError, isUnavailable, StoreDataError, unavailable } from '#shared/errors.ts';
import { type WithDeadline, withinStartupTimeout } from './deadline.ts';
import type { ServiceContext } from './metrics.ts';
import { pause } from '#shared/waiting.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import {
  type Databases,
  answeringGeneration,
  findGenerations,
  type Generation,
  generationLabels,
  type KnownGeneration,
} from '#shared/read-models/generation.ts';

export type LiveGenerations = Awaited<ReturnType<typeof watchGenerations>>;

const POLL_MS = 500;

interface GenerationsOptions extends ServiceContext {
  databases: Databases;
  readDeadline: WithDeadline;
  projectionVersion: number;
}

/** The generation of an environment, or why there is none to read. */
interface Found {
  generation: Generation | null;
  reason: string;
  /** The live generation belongs to another release. */
  isOtherRelease?: true;
}

const NOT_LOOKED_UP: Found = { generation: null, reason: 'not looked up yet' };

/** Starts to poll; resolves after the first poll or the startup timeout. */
export async function watchGenerations(options: GenerationsOptions) {
  const { config, databases, readDeadline, projectionVersion, logger, metrics } = options;
  const known = new Map<string, Found>();
  const find = (environment: string) => known.get(environment) ?? NOT_LOOKED_UP;

  /** Polls one environment. During an outage the last answer stays. */
  const lookUp = async (environment: string, stopped: AbortSignal) => {
    const { generation: before, reason: reasonBefore } = find(environment);
    let found: Found;
    try {
      const generations = await readDeadline(() => findGenerations(databases, environment));
      const answering = answeringGeneration(environment, generations, projectionVersion);
      found =
        answering === null
          ? absence(generations, projectionVersion)
          : { generation: answering, reason: '' };
    } catch (error) {
      if (!(error instanceof StoreDataError) || isUnavailable(error)) {
        logger.debug(
          { environment, error: describeError(error) },
          'the live generation could not be looked up',
        );
        return;
      }
      found = { generation: null, reason: error.message };
    }
    const { generation, reason } = found;
    if (generation?.marker.id === before?.marker.id && reason === reasonBefore) return;
    if (generation !== null && before !== null) {
      // So that clients do not see older data than before.
      await readDeadline(() => untilCaughtUp(generation, before, stopped)).catch(() => undefined);
    }
    known.set(environment, found);
    if (before !== null) metrics.answeringGeneration.remove(generationLabels(before.marker));
    if (generation === null) {
      logger.warn({ environment, reason }, 'no generation answers: data requests get 503');
    } else {
      metrics.answeringGeneration.set(generationLabels(generation.marker), 1);
      logger.info(
        { environment, generation: generation.marker.number },
        'this generation answers now',
      );
    }
  };

  const first = Promise.withResolvers<void>();
  const polling = startPeriodicTask({
    run: async (stopped) => {
      await Promise.all(config.environments.map((environment) => lookUp(environment, stopped)));
      first.resolve();
    },
    everyMs: POLL_MS,
    failed: (error) => logger.error({ error }, 'generations cannot be looked up'),
  });
  await withinStartupTimeout(first.promise);
  return {
    /**
     * @throws {StoreDataError} `environment_unavailable` while there is none, or none that this
     * release can read.
     */
    of(environment: string): Generation {
      const { generation, reason } = find(environment);
      if (generation !== null) return generation;
      throw unavailable(`no generation of ${environment}: ${reason}`);
    },
    /** As `of`; `null` instead of an error. */
    find: (environment: string) => find(environment).generation,
    /**
     * Why this instance is not ready: an environment's live generation belongs to another release.
     */
    otherReleaseReason() {
      const other = [...known].find(([, { isOtherRelease }]) => isOtherRelease);
      return other === undefined ? null : `${other[0]}: ${other[1].reason}`;
    },
    stop: polling.stop,
  };
}

function absence(generations: readonly KnownGeneration[], projectionVersion: number): Found {
  const { number, marker } = generations.find(({ state }) => state === 'live') ?? {};
  if (marker === undefined || marker === null)
    return { generation: null, reason: 'none was made yet' };
  return {
    generation: null,
    reason:
      `the live generation ${number} has projection version ${marker.projection_version}, ` +
      `this release reads ${projectionVersion}: it answers once a generation of its own is live`,
    isOtherRelease: true,
  };
}

/** After this time a generation answers even if it lags behind the one before. */
const MAX_CATCH_UP_MS = 300;
const CATCH_UP_POLL_MS = 10;

/** Resolves when a generation has caught up with another, or at the time limit. */
async function untilCaughtUp(
  generation: Generation,
  other: Generation,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + MAX_CATCH_UP_MS;
  do {
    if (await isCaughtUp(generation, other)) return;
  } while (performance.now() < end && (await pause(CATCH_UP_POLL_MS, signal)));
}

/** Compares the checkpoints of both in one snapshot. */
function isCaughtUp(generation: Generation, other: Generation): Promise<boolean> {
  return generation.db.client.withSession({ snapshot: true }, async (session) => {
    const positions = async ({ db }: Generation) => {
      const checkpoints = db.collection<{ _id: string; position: number }>(CHECKPOINTS);
      const found = await checkpoints.find({}, { session, projection: { position: 1 } }).toArray();
      return new Map(found.map(({ _id, position }) => [_id, position]));
    };
    const theirs = await positions(other);
    const ours = await positions(generation);
    return theirs.entries().every(([id, position]) => (ours.get(id) ?? 0) >= position);
  });
}
