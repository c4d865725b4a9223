/**
 * The steps of a generation: a rebuild makes it and waits until it has caught up, a flip makes it
 * live, a drop removes it.
 */
import { commandInvalid, notFound, StoreDataError, hasCode } from '#shared/errors.ts';
import {
  countApplied,
  hasReached,
  type LogBounds,
  type Positions,
  reachable,
  missingBetween,
} from '#shared/kafka/positions.ts';
import { checkTopics } from '#shared/kafka/client.ts';
import { pause } from '#shared/waiting.ts';
import {
  changePointer,
  createMarker,
  DEFAULT_SHARE,
  dropDatabaseOf,
  type GenerationPointer,
  type KnownGeneration,
  liveOf,
  PROJECTION_VERSION,
  withNew,
  withShare,
  generationGroup,
  withDropping,
  withLive,
  without,
} from '#shared/read-models/generation.ts';
import { createProgress, describeRest, remark } from '../output.ts';
import type { Environment } from '../servers.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoNetworkTimeoutError } from 'mongodb';
import { forgetDropped } from '#shared/projection/dead-letters/decisions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';

/**
 * Makes the next generation, or finds the one that is being built. Killed at any point and called again, it continues.
 * @param projectionVersion another release's in tests.
 * @param share the percentage of time that filling it may take while others are busy; by default what it began with, or 25.
 * @throws {StoreDataError} `topic_unsuitable` when the log does not hold everything, `command_invalid` while another
 * release builds one, `not_found` before the first projector has run.
 */
export async function beginRebuild(
  environment: Environment,
  share: number | null,
  projectionVersion = PROJECTION_VERSION,
): Promise<{ number: number; isResumed: boolean }> {
  const { servers, name, topic } = environment;
  await checkTopics(await servers.kafka.admin(), [topic], remark);
  checkReachesBack(topic, await environment.logBounds());
  const databases = await servers.databases();
  const before = building(await environment.generations());
  if (before !== undefined) checkRelease(name, before, projectionVersion);
  const change = (current: GenerationPointer) => {
    if (before !== undefined) return withShare(current, before.number, share ?? DEFAULT_SHARE);
    // Another command began one meanwhile.
    if (current.others?.some(({ state }) => state === 'building')) {
      throw commandInvalid(`a generation of ${name} is being built already: run it again`);
    }
    return withNew(current, share ?? DEFAULT_SHARE);
  };
  const isAsBefore = before !== undefined && share === null;
  const pointer = isAsBefore ? null : await changePointer(databases.control, name, change);
  const number = before?.number ?? pointer?.last ?? 0;
  await createMarker(databases, name, number, projectionVersion);
  return { number, isResumed: before !== undefined };
}

export function building(generations: readonly KnownGeneration[]): KnownGeneration | undefined {
  return generations.find(({ state }) => state === 'building');
}

/** Without a marker, a command was killed before it made that. */
function checkRelease(
  environment: string,
  { number, marker }: KnownGeneration,
  projectionVersion: number,
): void {
  if (marker === null || marker.projection_version === projectionVersion) return;
  throw commandInvalid(
    `generation ${number} of ${environment} is being built by another release, with projection version ` +
      `${marker.projection_version} instead of ${projectionVersion}: let that release finish it, ${dropIt(environment, number)}`,
  );
}

function dropIt(environment: string, number: number): string {
  return `or drop it with "store-data generations drop ${number} --environment ${environment}"`;
}

function checkReachesBack(topic: string, bounds: LogBounds): void {
  const lost = [...bounds]
    .filter(([, { start }]) => start > 0)
    .toSorted(([a], [b]) => a - b)
    .map(([partition, { start }]) => `partition ${partition} begins at ${start}`);
  if (lost.length === 0) return;
  throw new StoreDataError(
    'topic_unsuitable',
    `topic ${topic} has lost its beginning: ${lost.join(', ')}. A rebuild would lose earlier events: ` +
      'publish the present state of everything again, to a topic that keeps it, or restore the topic',
  );
}

const POLL_MS = 500;
/**
 * A generation has caught up when it reaches a position that the live one had at most so long ago.
 */
const CLOSE_MS = 2_000;
/** After this time a missing projector is reported. */
const UNATTENDED_MS = 5_000;

/**
 * Waits until the generation is as far as the live one was a moment ago.
 * @throws {StoreDataError} `not_found` when it is dropped meanwhile, `topic_unsuitable` when the log loses messages, `command_invalid`
 * when the signal is aborted.
 */
export async function catchUp(environment: Environment, number: number, signal: AbortSignal) {
  const targets: { at: number; target: Positions }[] = [];
  const { name, topic } = environment;
  const progress = createProgress();
  const began = performance.now();
  let isChecked = false;
  /** Applied before this command began. */
  let before: number | undefined;
  for (;;) {
    const generations = await environment.generations();
    const built = generations.find((generation) => generation.number === number);
    const live = liveOf(name, generations);
    if (built === undefined || built.state === 'dropping' || live === null) {
      throw notFound(`generation ${number} of ${name} was dropped`);
    }
    // Positions first: messages that come meanwhile count as not applied.
    const positions = await readPositions(built.db, topic);
    const target = await readPositions(live.db, topic);
    const bounds = await environment.logBounds();
    checkReachesBack(topic, bounds);

    const now = performance.now();
    const { applied, total } = countApplied(positions, bounds);
    before ??= applied;
    const rest = describeRest(applied - before, total - before, now - began);
    progress(`applied ${applied} of ${total} messages${rest}`);
    while ((targets[0]?.at ?? now) < now - CLOSE_MS) targets.shift();
    targets.push({ at: now, target: reachable(target, bounds) });
    if (targets.some((earlier) => hasReached(positions, earlier.target))) return;

    if (!isChecked && now - began > UNATTENDED_MS) {
      isChecked = true;
      const group = (await groupsOf(environment, [number])).get(number);
      if (!group?.members.length) {
        remark(
          `no projector fills generation ${number}: start one of this release ` +
            `(projection version ${PROJECTION_VERSION}) that applies ${topic}`,
        );
      }
    }
    if (!(await pause(POLL_MS, signal))) {
      throw commandInvalid(
        `interrupted: projectors continue to fill generation ${number} of ${name}. ` +
          `Run the command again to continue, ${dropIt(name, number)}`,
      );
    }
  }
}

/** The consumer groups that project generations, by their numbers. */
export async function groupsOf(environment: Environment, numbers: readonly number[]) {
  const { config, kafka } = environment.servers;
  const nameOf = (number: number) => generationGroup(config.namePrefix, environment.name, number);
  const { groups } = await (await kafka.admin()).describeGroups(numbers.map(nameOf));
  return new Map(
    numbers.map((number) => [number, groups.find(({ groupId }) => groupId === nameOf(number))]),
  );
}

const REACHED_POLL_MS = 20;
/** How long the other generation may take to reach the positions of the live one. */
const PATIENCE_MS = 15_000;

/**
 * Makes a generation live; the previous one is still projected.
 * @param patienceMs how long it waits until the generation has everything; `null` does not wait.
 * @throws {StoreDataError} `not_found` if there is no such generation, `command_invalid` if it does not reach the live one's
 * positions in time, or another generation became live meanwhile.
 */
export async function flip(
  environment: Environment,
  to: number,
  patienceMs: number | null = PATIENCE_MS,
) {
  const { servers, name, topic } = environment;
  const generations = await environment.generations();
  const next = generations.find(({ number }) => number === to);
  const live = generations.find(({ state }) => state === 'live');
  if (next === undefined || live === undefined || next.marker === null) {
    throw notFound(`${name} has no generation ${to}`);
  }
  const { db, marker } = next;
  const from = live.number;
  if (to === from) throw commandInvalid(`generation ${to} of ${name} is live already`);
  if (patienceMs !== null) {
    const target = reachable(await readPositions(live.db, topic), await environment.logBounds());
    for (const end = performance.now() + patienceMs; ; await sleep(REACHED_POLL_MS)) {
      const missing = missingBetween(await readPositions(db, topic), target);
      if (missing === 0) break;
      if (performance.now() < end) continue;
      throw commandInvalid(
        `generation ${to} of ${name} lacks ${missing} messages that the live one has: ` +
          `does a projector of its release (projection version ${marker.projection_version}) run?`,
      );
    }
  }
  const control = await servers.control();
  await forgetDropped(control, { db, since: marker.created_at }, topic);
  await changePointer(control, name, (pointer) => {
    if (pointer.live === from) return withLive(pointer, to);
    throw commandInvalid(`generation ${pointer.live} of ${name} became live meanwhile`);
  });
  return { from, to };
}

/** Projectors and query services poll twice a second, and a poll may fail. */
const HEARD_MS = 3_000;
/** How long the command waits for projectors, such as a frozen one. */
const LEFT_MS = 60_000;
/**
 * How long the database must stay gone: a process that creates an index creates its database again.
 */
const GONE_MS = 1_000;
const LEFT_POLL_MS = 200;
const DATABASE_DROP_PENDING = 215;

/**
 * Drops a generation that is not live: the pointer marks it, all processes leave it, and its database is dropped. The pointer forgets it
 * last, so that the command can be run again after a kill.
 * @throws {StoreDataError} `command_invalid` for the live one or while projectors use it, `not_found` if no generation has this number.
 */
export async function dropGeneration(environment: Environment, number: number): Promise<void> {
  const control = await environment.servers.control();
  await changePointer(control, environment.name, (pointer) => withDropping(pointer, number));
  await sleep(HEARD_MS);
  await untilLeft(environment, number);
  const found = (await environment.generations()).find((one) => one.number === number);
  if (found !== undefined) {
    do {
      await dropDatabaseOf(found).catch((error: unknown) => {
        // MongoDB continues a drop after the command's end, and refuses another one meanwhile.
        const isBeingDropped =
          error instanceof MongoNetworkTimeoutError || hasCode(error, DATABASE_DROP_PENDING);
        if (!isBeingDropped) throw error;
      });
      await sleep(GONE_MS);
    } while ((await found.db.listCollections({}, { nameOnly: true }).toArray()).length > 0);
  }
  await changePointer(control, environment.name, (pointer) => without(pointer, number));
}

async function untilLeft(environment: Environment, number: number): Promise<void> {
  for (const end = performance.now() + LEFT_MS; ; await sleep(LEFT_POLL_MS)) {
    const found = (await groupsOf(environment, [number])).get(number);
    if (found === undefined || found.state === 'Dead') return;
    const { groupId, members } = found;
    if (members.length === 0) {
      await (await environment.servers.kafka.admin()).deleteGroups([groupId]);
      return;
    }
    if (performance.now() < end) continue;
    throw commandInvalid(
      `generation ${number} of ${environment.name} is not dropped yet: ${members.length} projectors are still in its ` +
        `consumer group ${groupId}. Run the command again when they have left`,
    );
  }
}
