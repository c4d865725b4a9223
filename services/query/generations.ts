/**
 * The generation of each environment from which requests are answered, read twice a second, so that a flip takes effect within one
 * second. It is the live one if this release made it, else the newest kept one that this release made.
 */
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import { type WithDeadline, withinStartupTimeout } from './deadline.ts';
import type { QueryMetrics } from './metrics.ts';
import type { Logger } from '#shared/logging.ts';
import { pause } from '#shared/waiting.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import {
  answeringGeneration,
  findGenerations,
  type Generation,
  generationLabels,
  type KnownGeneration,
} from '#shared/read-models/generation.ts';

export interface LiveGenerations {
  /**
   * The generation that answers for an environment.
   * @throws {StoreDataError} `environment_unavailable` while there is none, or none that this release can read.
   */
  of: (environment: string) => Generation;
  /** The same, but `null` instead of an error. */
  find: (environment: string) => Generation | null;
  /** Names an environment whose live generation belongs to another release, as the reason for not being ready; `null` if there is none. */
  otherReleaseReason: () => string | null;
  stop: () => Promise<void>;
}

export interface GenerationsOptions {
  databases: Databases;
  /** Bounds reads of what is common to all environments, or of an environment's own. */
  deadlineFor: (environment: string | null) => WithDeadline;
  environments: readonly string[];
  /** Only generations made with it can be read. */
  projectionVersion: number;
  logger: Logger;
  metrics: Pick<QueryMetrics, 'answeringGeneration'>;
  intervalMs: number;
}

/** Starts to poll; resolves after the first poll, or at the end of the startup timeout. */
export async function watchGenerations(options: GenerationsOptions): Promise<LiveGenerations> {
  const { environments, intervalMs, logger } = options;
  const live = new Map<string, Generation | Absence>();
  const first = Promise.withResolvers<void>();
  const looking = new PeriodicTask({
    run: async (stopped) => {
      await Promise.all(environments.map((environment) => lookUp(options, environment, live, stopped)));
      first.resolve();
    },
    everyMs: intervalMs,
    failed: (error) => logger.error({ error }, 'generations cannot be looked up'),
  });
  await withinStartupTimeout(first.promise);
  return {
    of(environment) {
      const found = live.get(environment) ?? { reason: 'not looked up yet', isOtherRelease: false };
      if ('reason' in found) {
        throw new StoreDataError(
          'environment_unavailable',
          `no generation of ${environment}: ${found.reason}`,
        );
      }
      return found;
    },
    find(environment) {
      const found = live.get(environment);
      return found === undefined || 'reason' in found ? null : found;
    },
    otherReleaseReason() {
      const foreign = [...live].find(([, found]) => 'reason' in found && found.isOtherRelease);
      if (foreign === undefined) return null;
      const [environment, found] = foreign;
      return `${environment}: ${'reason' in found ? found.reason : ''}`;
    },
    stop: () => looking.stop(),
  };
}

/** Why there is nothing to read. */
interface Absence {
  reason: string;
  /** There is a generation, and another release's. */
  isOtherRelease: boolean;
}

/** Polls one environment. While MongoDB is away the last answer stays. */
async function lookUp(
  { databases, deadlineFor, projectionVersion, logger, metrics }: GenerationsOptions,
  environment: string,
  live: Map<string, Generation | Absence>,
  stopped: AbortSignal,
): Promise<void> {
  const before = live.get(environment);
  const withDeadline = deadlineFor(environment);
  let found: Generation | Absence;
  try {
    const generations = await withDeadline(() => findGenerations(databases, environment));
    found =
      answeringGeneration(environment, generations, projectionVersion) ??
      absence(generations, projectionVersion);
  } catch (error) {
    if (!(error instanceof StoreDataError) || isUnavailable(error)) {
      logger.debug(
        { environment, error: describeError(error) },
        'the live generation could not be looked up',
      );
      return;
    }
    found = { reason: error.message, isOtherRelease: false };
  }
  if ('reason' in found) {
    if (before !== undefined && 'reason' in before && before.reason === found.reason) return;
    live.set(environment, found);
    if (before !== undefined && !('reason' in before)) {
      metrics.answeringGeneration.remove(generationLabels(before.marker));
    }
    logger.warn({ environment, reason: found.reason }, 'there is no generation to read');
  } else if (before === undefined || 'reason' in before || before.marker.id !== found.marker.id) {
    if (before !== undefined && !('reason' in before)) {
      const [from, to] = [before, found];
      // So that clients do not lose what they have seen; for a moment only.
      await withDeadline(() => untilCaughtUp(to, from, stopped)).catch(() => undefined);
      metrics.answeringGeneration.remove(generationLabels(from.marker));
    }
    live.set(environment, found);
    metrics.answeringGeneration.set(generationLabels(found.marker), 1);
    logger.info({ environment, generation: found.marker.number }, 'answers from a generation');
  }
}

function absence(generations: readonly KnownGeneration[], projectionVersion: number): Absence {
  const live = generations.find(({ state }) => state === 'live');
  if (live === undefined || live.marker === null)
    return { reason: 'none was made yet', isOtherRelease: false };
  return {
    reason: `the live generation ${live.number} has projection version ${live.marker.projection_version}, this release reads ${projectionVersion}: it answers once a generation of its own is live`,
    isOtherRelease: true,
  };
}

/** After this time the generation is taken as it is: the pointer rules. */
const PATIENCE_MS = 300;
const CATCH_UP_POLL_MS = 10;

/** Resolves when a generation has caught up with another, in one snapshot of both, or after a moment. */
async function untilCaughtUp(generation: Generation, other: Generation, signal: AbortSignal): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  do {
    if (await isCaughtUp(generation, other)) return;
  } while (performance.now() < end && (await pause(CATCH_UP_POLL_MS, signal)));
}

function isCaughtUp(generation: Generation, other: Generation): Promise<boolean> {
  return generation.db.client.withSession({ snapshot: true }, async (session) => {
    const positions = async ({ db }: Generation) => {
      const checkpoints = db.collection<{ _id: string; position: number }>(CHECKPOINTS);
      const found = await checkpoints.find({}, { session, projection: { position: 1 } }).toArray();
      return new Map(found.map(({ _id, position }) => [_id, position]));
    };
    const theirs = await positions(other);
    const ours = await positions(generation);
    return [...theirs].every(([id, position]) => (ours.get(id) ?? 0) >= position);
  });
}
