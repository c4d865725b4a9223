/**
 * A rebuild from its beginning to the flip: a new generation that the projectors fill, beside the live one. Each step can be the one with
 * which a command continues that was killed before.
 */
import { commandInvalid, notFound, StoreDataError } from '#shared/errors.ts';
import {
  createMarker,
  findGenerations,
  generationGroup,
  type KnownGeneration,
  liveOf,
} from '#shared/read-models/generation.ts';
import { type Acceptance, compareGenerations, type Comparison, unacceptable } from './compare.ts';
import { flip, type Flipped } from './flip.ts';
import type { InstallationServers } from './installation.ts';
import { changesTopic } from '#shared/events/topics.ts';
import {
  countApplied,
  hasReached,
  type LogBounds,
  type Positions,
  reachable,
  readLogBounds,
} from '#shared/kafka/positions.ts';
import { checkTopics } from '#shared/kafka/topics.ts';
import { changePointer, withNew, withShare } from '#shared/read-models/generation-pointer.ts';
import { remark } from '../output/print.ts';
import { pause } from '#shared/pause.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';

interface RebuildOptions extends CatchUpOptions {
  /** As for `beginRebuild`. */
  share: number | null;
  accepted: Acceptance;
  /** Leaves the flip to the operator. */
  wait: boolean;
  begun: (begun: Begun) => void;
  comparing: (stores: number, of: number) => void;
}

export interface Rebuilt {
  number: number;
  comparison: Comparison;
  /** `null` where it was left to the operator, or differences forbid it. */
  flipped: Flipped | null;
}

/** Makes a new generation of an environment live. @throws as the steps do. */
export async function rebuild(
  servers: InstallationServers,
  environment: string,
  options: RebuildOptions,
): Promise<Rebuilt> {
  const begun = await beginRebuild(servers, environment, options.share);
  options.begun(begun);
  const { number } = begun;
  await catchUp(servers, environment, number, options);
  const comparison = await compareWithLive(servers, environment, number, options.comparing);
  const isHeld = options.wait || unacceptable(comparison, options.accepted).length > 0;
  return { number, comparison, flipped: isHeld ? null : await flip(servers, environment, number) };
}

/**
 * Compares a generation of this release with the live one.
 * @throws {StoreDataError} `not_found` where there is none, `generation_unsuitable` when another release made it.
 */
export async function compareWithLive(
  { databases, projectionVersion }: InstallationServers,
  environment: string,
  number: number,
  progress: (stores: number, of: number) => void,
): Promise<Comparison> {
  const generations = await findGenerations(databases, environment);
  const live = liveOf(environment, generations);
  const rebuilt = generations.find((generation) => generation.number === number);
  if (live === null || rebuilt === undefined || rebuilt.marker === null) {
    throw notFound(`${environment} has no generation ${number}`);
  }
  checkVersion(environment, rebuilt, projectionVersion);
  return compareGenerations({
    environment,
    live,
    rebuilt: { marker: rebuilt.marker, db: rebuilt.db },
    progress,
  });
}

function checkVersion(
  environment: string,
  { number, marker }: KnownGeneration,
  projectionVersion: number,
): void {
  if (marker?.projection_version === projectionVersion) return;
  throw new StoreDataError(
    'generation_unsuitable',
    `generation ${number} of ${environment} has projection version ${marker?.projection_version}, this release compares ${projectionVersion}: run the command of its release`,
  );
}

/** The share of time that filling takes where nobody said another. */
const DEFAULT_SHARE = 25;

interface Begun {
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
  const topic = changesTopic(environment);
  await checkTopics(kafka, [topic], remark);
  checkReachesBack(environment, await readLogBounds(kafka, topic));
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
function checkReachesBack(environment: string, bounds: LogBounds): void {
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

const LOOK_MS = 500;
/** Who has reached what the live one had applied this long ago has caught up. */
const CLOSE_MS = 2_000;
/** After this time without anybody who fills it, that is said. */
const UNATTENDED_MS = 5_000;

interface CatchUpState {
  applied: number;
  total: number;
}

interface CatchUpOptions {
  signal: AbortSignal;
  progress: (state: CatchUpState) => void;
  /** Told once when no projector fills the generation. */
  unattended: () => void;
}

/**
 * Resolves when the generation is as far as the live one was a moment ago.
 * @throws {StoreDataError} `not_found` when somebody drops it meanwhile, `topic_unsuitable` when the log loses messages,
 * `command_invalid` when the signal is aborted.
 */
async function catchUp(
  servers: InstallationServers,
  environment: string,
  number: number,
  { signal, progress, unattended }: CatchUpOptions,
): Promise<void> {
  const targets: { at: number; target: Positions }[] = [];
  const topic = changesTopic(environment);
  const began = performance.now();
  let isAttended = false;
  for (;;) {
    const generations = await findGenerations(servers.databases, environment);
    const built = generations.find((generation) => generation.number === number);
    const live = liveOf(environment, generations);
    if (built === undefined || built.state === 'dropping' || live === null) {
      throw notFound(`generation ${number} of ${environment} was dropped`);
    }
    // Positions first: what comes meanwhile counts as not applied.
    const positions = await readPositions(built.db, topic);
    const target = await readPositions(live.db, topic);
    const bounds = await readLogBounds(servers.kafka, topic);
    checkReachesBack(environment, bounds);
    progress(countApplied(positions, bounds));

    const now = performance.now();
    while ((targets[0]?.at ?? now) < now - CLOSE_MS) targets.shift();
    targets.push({ at: now, target: reachable(target, bounds) });
    if (targets.some((earlier) => hasReached(positions, earlier.target))) return;

    if (!isAttended && now - began > UNATTENDED_MS) {
      isAttended = true;
      if (!(await isFilled(servers, environment, number))) unattended();
    }
    if (!(await pause(LOOK_MS, signal))) throw interrupted(environment, number);
  }
}

/** What a command says that was told to stop. */
function interrupted(environment: string, number: number): StoreDataError {
  return commandInvalid(
    `interrupted: projectors go on filling generation ${number} of ${environment}. Run the command again to go on from there, or drop it with "store-data generations drop ${number} --environment ${environment}"`,
  );
}

async function isFilled(
  { kafka, prefix }: InstallationServers,
  environment: string,
  number: number,
): Promise<boolean> {
  const { groups } = await kafka.describeGroups([generationGroup(prefix, environment, number)]);
  return groups.some(({ members }) => members.length > 0);
}

/** In words, for the operator: nobody fills the generation. */
export function describeUnattended(environment: string, number: number, projectionVersion: number): string {
  return `no projector fills generation ${number}: start one of this release (projection version ${projectionVersion}) that applies ${changesTopic(environment)}`;
}
