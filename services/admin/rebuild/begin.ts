/** Begins a rebuild, or goes on with one that was begun: a new generation that the projectors fill. */
import { commandInvalid, StoreDataError } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { checkTopics } from '#shared/kafka.ts';
import { changePointer, withNew, withShare } from '#shared/read-models/generation-pointer.ts';
import { createMarker, findGenerations, type KnownGeneration } from '#shared/read-models/generation.ts';
import { type InstallationServers, type LogBounds, readLogBounds } from './installation.ts';

/** The share of time that filling takes where nobody said another. */
export const DEFAULT_SHARE = 25;

export interface Begun {
  number: number;
  isResumed: boolean;
}

/**
 * Makes the next generation, or finds the one that is being built. Killed at any point and called again, it goes on.
 * @param share the percentage of time that filling it may take while others are busy; by default as it was begun, or 25.
 * @throws {StoreDataError} `topic_unsuitable` when the log does not hold everything, `command_invalid` while another
 * release builds one, `not_found` before the first projector has run.
 */
export async function beginRebuild(
  servers: InstallationServers,
  environment: string,
  share: number | null,
): Promise<Begun> {
  const { databases, kafka, projectionVersion } = servers;
  await checkTopics(kafka, [changesTopic(environment)]);
  checkReachesBack(environment, await readLogBounds(servers, environment));
  const { control } = databases;
  const before = building(await findGenerations(databases, environment));
  if (before !== undefined) {
    checkRelease(environment, before, projectionVersion);
    if (share !== null)
      await changePointer(control, environment, (pointer) => withShare(pointer, before.number, share));
    await createMarker(databases, environment, before.number, projectionVersion);
    return { number: before.number, isResumed: true };
  }
  const { last = 0 } = await changePointer(control, environment, (pointer) => {
    // Another command may have begun one meanwhile: running this one again finds it.
    if (pointer.others?.some(({ state }) => state === 'building')) {
      throw commandInvalid(`a generation of ${environment} is being built already: run it again`);
    }
    return withNew(pointer, share ?? DEFAULT_SHARE);
  });
  await createMarker(databases, environment, last, projectionVersion);
  return { number: last, isResumed: false };
}

/** The generation that is being built. */
export function building(generations: readonly KnownGeneration[]): KnownGeneration | undefined {
  return generations.find(({ state }) => state === 'building');
}

/** A marker that is missing was about to be made when a command ended. */
function checkRelease(
  environment: string,
  { number, marker }: KnownGeneration,
  projectionVersion: number,
): void {
  if (marker === null || marker.projection_version === projectionVersion) return;
  throw commandInvalid(
    `generation ${number} of ${environment} is being built with projection version ${marker.projection_version}, by another release than this one (${projectionVersion}): let that one finish it, or drop it with "store-data generations drop ${number} --environment ${environment}"`,
  );
}

/** Checks that a log is whole. @throws {StoreDataError} `topic_unsuitable`, naming each partition that lost messages. */
export function checkReachesBack(environment: string, bounds: LogBounds): void {
  const lost = [...bounds]
    .filter(([, { start }]) => start > 0)
    .toSorted(([a], [b]) => a - b)
    .map(([partition, { start }]) => `partition ${partition} begins at ${start}`);
  if (lost.length === 0) return;
  throw new StoreDataError(
    'topic_unsuitable',
    `topic ${changesTopic(environment)} no longer reaches back to its beginning: ${lost.join(', ')}. What came before can't be projected anew: a rebuild would lose it. Publish the present state of everything again, to a topic that keeps it, or restore the topic`,
  );
}
