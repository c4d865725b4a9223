/** The live generation of each environment, looked up every second, so that a flip is followed within one. */
import type { MongoClient } from 'mongodb';
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import type { Bounded } from './deadline.ts';
import { pause } from './pause.ts';
import type { Logger } from '#shared/logging.ts';
import { findLiveGeneration, type Generation, PROJECTION_VERSION } from '#shared/read-models/generation.ts';

export interface LiveGenerations {
  /**
   * The generation that answers for an environment.
   * @throws {StoreDataError} `environment_unavailable` while there is none, or none that this release can read.
   */
  of: (environment: string) => Generation;
  stop: () => Promise<void>;
}

export interface GenerationsOptions {
  client: MongoClient;
  bounded: Bounded;
  prefix: string;
  environments: readonly string[];
  logger: Logger;
  intervalMs: number;
}

/** Starts to look; resolves after the first look, also when MongoDB could not be reached. */
export async function watchGenerations(options: GenerationsOptions): Promise<LiveGenerations> {
  const { environments, intervalMs } = options;
  const live = new Map<string, Generation | string>();
  const look = () => Promise.all(environments.map((environment) => lookUp(options, environment, live)));
  await look();

  const stopped = new AbortController();
  const watching = (async () => {
    while (await pause(intervalMs, stopped.signal)) await look();
  })();
  return {
    of(environment) {
      const found = live.get(environment) ?? 'not looked up yet';
      if (typeof found === 'string') {
        throw new StoreDataError('environment_unavailable', `no generation of ${environment}: ${found}`);
      }
      return found;
    },
    async stop() {
      stopped.abort();
      await watching;
    },
  };
}

/** Looks once. While MongoDB is away the last answer stays: reading from it will tell. */
async function lookUp(
  { client, bounded, prefix, logger }: GenerationsOptions,
  environment: string,
  live: Map<string, Generation | string>,
): Promise<void> {
  const before = live.get(environment);
  let found: Generation | string;
  try {
    const generation = await bounded(() => findLiveGeneration(client, prefix, environment));
    if (generation === null) found = 'none was made yet';
    else found = unreadable(generation) ?? generation;
  } catch (error) {
    if (!(error instanceof StoreDataError) || isUnavailable(error)) {
      logger.debug(
        { environment, error: describeError(error) },
        'the live generation could not be looked up',
      );
      return;
    }
    found = error.message;
  }
  if (typeof found !== 'string') {
    if (typeof before !== 'object' || before.marker.id !== found.marker.id) {
      live.set(environment, found);
      logger.info({ environment, generation: found.marker.number }, 'follows the live generation');
    }
  } else if (before !== found) {
    live.set(environment, found);
    logger.warn({ environment, reason: found }, 'there is no generation to read');
  }
}

function unreadable({ marker }: Generation): string | null {
  return marker.projection_version === PROJECTION_VERSION
    ? null
    : `generation ${marker.number} has projection version ${marker.projection_version}, this release reads ${PROJECTION_VERSION}`;
}
