/**
 * A rebuild: a new generation that the projectors fill, beside the live one, until it has caught up. Each step can be the one with
 * which a command continues that was killed before.
 */
import { commandInvalid, notFound, StoreDataError } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { countApplied, hasReached, type LogBounds, type Positions, reachable } from '#shared/kafka/positions.ts';
import { checkTopics } from '#shared/kafka/topics.ts';
import { pause } from '#shared/waiting.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import {
  changePointer,
  createMarker,
  type KnownGeneration,
  liveOf,
  PROJECTION_VERSION,
  withNew,
  withShare,
} from '#shared/read-models/generation.ts';
import { remark } from '../output/print.ts';
import { formatDuration, type ProgressLine } from '../output/terminal.ts';
import { groupsOf } from './flip.ts';
import type { Servers } from '../servers.ts';

/** The share of time that filling takes by default. */
const DEFAULT_SHARE = 25;

/**
 * Makes the next generation, or finds the one that is being built. Killed at any point and called again, it continues.
 * @param projectionVersion the release's, unless a test plays another release.
 * @param share the percentage of time that filling it may take while others are busy; by default as it was begun, or 25.
 * @throws {StoreDataError} `topic_unsuitable` when the log does not hold everything, `command_invalid` while another
 * release builds one, `not_found` before the first projector has run.
 */
export async function beginRebuild(
  servers: Servers,
  environment: string,
  share: number | null,
  projectionVersion = PROJECTION_VERSION,
): Promise<{ number: number; isResumed: boolean }> {
  const topic = changesTopic(environment);
  await checkTopics(await servers.kafkaOf(topic).admin(), [topic], remark);
  checkReachesBack(environment, await servers.logBounds(topic));
  const databases = await servers.databases(environment);
  const { control } = databases;
  const before = building(await servers.generations(environment));
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

export function building(generations: readonly KnownGeneration[]): KnownGeneration | undefined {
  return generations.find(({ state }) => state === 'building');
}

/** A marker that is missing was about to be made when a command ended. */
function checkRelease(environment: string, { number, marker }: KnownGeneration, projectionVersion: number): void {
  if (marker === null || marker.projection_version === projectionVersion) return;
  throw commandInvalid(
    `generation ${number} of ${environment} is being built with projection version ${marker.projection_version}, by another release than this one (${projectionVersion}): let that one finish it, or drop it with "store-data generations drop ${number} --environment ${environment}"`,
  );
}

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

const POLL_MS = 500;
/** A generation that has reached what the live one had applied this long ago has caught up. */
const CLOSE_MS = 2_000;
/** After this time without anybody who fills it, that is said. */
const UNATTENDED_MS = 5_000;
/** The rate is that of the last seconds: a throttled rebuild has quick and slow times. */
const RATE_MS = 10_000;

/**
 * Resolves when the generation is as far as the live one was a moment ago.
 * @throws {StoreDataError} `not_found` when somebody drops it meanwhile, `topic_unsuitable` when the log loses messages,
 * `command_invalid` when the signal is aborted.
 */
export async function catchUp(
  servers: Servers,
  environment: string,
  number: number,
  line: ProgressLine,
  signal: AbortSignal,
): Promise<void> {
  const targets: { at: number; target: Positions }[] = [];
  const samples: { at: number; applied: number }[] = [];
  const topic = changesTopic(environment);
  const began = performance.now();
  let isChecked = false;
  for (;;) {
    const generations = await servers.generations(environment);
    const built = generations.find((generation) => generation.number === number);
    const live = liveOf(environment, generations);
    if (built === undefined || built.state === 'dropping' || live === null) {
      throw notFound(`generation ${number} of ${environment} was dropped`);
    }
    // Positions first: what comes meanwhile counts as not applied.
    const positions = await readPositions(built.db, topic);
    const target = await readPositions(live.db, topic);
    const bounds = await servers.logBounds(topic);
    checkReachesBack(environment, bounds);

    const now = performance.now();
    const { applied, total } = countApplied(positions, bounds);
    samples.push({ at: now, applied });
    while ((samples[1]?.at ?? now) < now - RATE_MS) samples.shift();
    line.show(describeProgress(applied, total, rateOf(samples)));
    while ((targets[0]?.at ?? now) < now - CLOSE_MS) targets.shift();
    targets.push({ at: now, target: reachable(target, bounds) });
    if (targets.some((earlier) => hasReached(positions, earlier.target))) return;

    if (!isChecked && now - began > UNATTENDED_MS) {
      isChecked = true;
      const group = (await groupsOf(servers, environment, [number])).get(number);
      if (!group?.members.length) {
        line.say(
          `no projector fills generation ${number}: start one of this release (projection version ${PROJECTION_VERSION}) that applies ${topic}`,
        );
      }
    }
    if (!(await pause(POLL_MS, signal))) {
      throw commandInvalid(
        `interrupted: projectors go on filling generation ${number} of ${environment}. Run the command again to go on from there, or drop it with "store-data generations drop ${number} --environment ${environment}"`,
      );
    }
  }
}

/** How many a second; 0 while that is not known. */
function rateOf(samples: readonly { at: number; applied: number }[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.at === first.at) return 0;
  return ((last.applied - first.applied) * 1_000) / (last.at - first.at);
}

const BAR = 24;

function describeProgress(applied: number, total: number, perSecond: number): string {
  const share = total === 0 ? 1 : applied / total;
  const filled = Math.floor(share * BAR);
  const bar = `[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}]`;
  const parts = [`${bar} ${Math.floor(share * 100)} %`, `${applied} of ${total}`];
  if (perSecond > 0) {
    const left = formatDuration(((total - applied) / perSecond) * 1_000);
    parts.push(`${Math.round(perSecond)} events/s`, `${left} left`);
  }
  return parts.join(', ');
}
