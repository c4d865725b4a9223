/**
 * The generation of each environment from which requests are answered, looked up twice a second, so that a flip is
 * followed within one. It is the live one where this release made it, else the newest of its own that is kept.
 */
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import { soon } from './at-start.ts';
import type { Bounded } from './deadline.ts';
import type { Logger } from '#shared/logging.ts';
import { pause } from '#shared/pause.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import {
  answeringGeneration,
  type Generation,
  type KnownGeneration,
  PointerWatch,
} from '#shared/read-models/generation.ts';

export interface LiveGenerations {
  /**
   * The generation that answers for an environment.
   * @throws {StoreDataError} `environment_unavailable` while there is none, or none that this release can read.
   */
  of: (environment: string) => Generation;
  /** The same, and `null` where there is none. */
  find: (environment: string) => Generation | null;
  /** Whether some environment's live generation belongs to another release and there is none of this one to answer from. */
  isForeign: () => boolean;
  stop: () => Promise<void>;
}

export interface GenerationsOptions {
  databases: Databases;
  /** Bounds reads of what is common to all environments, or of an environment's own. */
  boundedIn: (environment: string | null) => Bounded;
  environments: readonly string[];
  /** Only generations made with it can be read. */
  projectionVersion: number;
  logger: Logger;
  intervalMs: number;
}

/** Starts to look; resolves after the first look, or while MongoDB does not answer it. */
export async function watchGenerations(options: GenerationsOptions): Promise<LiveGenerations> {
  const { databases, environments, boundedIn, intervalMs, logger } = options;
  const pointers = new PointerWatch(databases, environments, boundedIn(null));
  const live = new Map<string, Generation | Absence>();
  const first = Promise.withResolvers<void>();
  const looking = new PeriodicTask({
    run: async (stopped) => {
      try {
        await pointers.each((environment, find) => lookUp(options, { environment, find }, live, stopped));
      } catch (error) {
        logger.debug({ error: describeError(error) }, 'generations could not be looked up');
      }
      first.resolve();
    },
    everyMs: intervalMs,
    failed: (error) => logger.error({ error }, 'generations cannot be looked up'),
  });
  await soon(first.promise);
  return {
    of(environment) {
      const found = live.get(environment) ?? { reason: 'not looked up yet', isForeign: false };
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
    isForeign: () => [...live.values()].some((found) => 'reason' in found && found.isForeign),
    stop: () => looking.stop(),
  };
}

/** Why there is nothing to read. */
interface Absence {
  reason: string;
  /** There is a generation, and another release's. */
  isForeign: boolean;
}

/** Looks once. While MongoDB is away the last answer stays: reading from it will tell. @returns what there is, as far as it is known. */
async function lookUp(
  { boundedIn, projectionVersion, logger }: GenerationsOptions,
  { environment, find }: { environment: string; find: () => Promise<KnownGeneration[]> },
  live: Map<string, Generation | Absence>,
  stopped: AbortSignal,
): Promise<readonly KnownGeneration[]> {
  const before = live.get(environment);
  const bounded = boundedIn(environment);
  let generations: readonly KnownGeneration[] = [];
  let found: Generation | Absence;
  try {
    generations = await bounded(find);
    found =
      answeringGeneration(environment, generations, projectionVersion) ??
      absence(generations, projectionVersion);
  } catch (error) {
    if (!(error instanceof StoreDataError) || isUnavailable(error)) {
      logger.debug(
        { environment, error: describeError(error) },
        'the live generation could not be looked up',
      );
      return [];
    }
    found = { reason: error.message, isForeign: false };
  }
  if ('reason' in found) {
    if (before !== undefined && 'reason' in before && before.reason === found.reason) return generations;
    live.set(environment, found);
    logger.warn({ environment, reason: found.reason }, 'there is no generation to read');
  } else if (before === undefined || 'reason' in before || before.marker.id !== found.marker.id) {
    if (before !== undefined && !('reason' in before)) {
      const [from, to] = [before, found];
      // What clients have seen they shall see again, as far as that is to be had in a moment.
      await bounded(() => untilCaughtUp(to, from, stopped)).catch(() => undefined);
    }
    live.set(environment, found);
    logger.info({ environment, generation: found.marker.number }, 'answers from a generation');
  }
  return generations;
}

function absence(generations: readonly KnownGeneration[], projectionVersion: number): Absence {
  const live = generations.find(({ state }) => state === 'live');
  if (live === undefined || live.marker === null) return { reason: 'none was made yet', isForeign: false };
  return {
    reason: `the live generation ${live.number} has projection version ${live.marker.projection_version}, this release reads ${projectionVersion}: it answers once a generation of its own is live`,
    isForeign: true,
  };
}

/** The pointer rules: after this time the other is taken as it is. */
const PATIENCE_MS = 300;
const LOOK_MS = 10;

/** Resolves when a generation is as far as another, seen in one snapshot of both, or after a moment. */
async function untilCaughtUp(generation: Generation, other: Generation, signal: AbortSignal): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  do {
    if (await isCaughtUp(generation, other)) return;
  } while (performance.now() < end && (await pause(LOOK_MS, signal)));
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
