/** Makes another generation live, once that has everything that is answered now; and drops one that is not live. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoNetworkTimeoutError } from 'mongodb';
import { commandInvalid, hasCode, notFound } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { missingBetween, reachable } from '#shared/kafka/positions.ts';
import { forgetDropped } from '#shared/projection/dead-letters/decisions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import {
  changePointer,
  generationGroup,
  type KnownGeneration,
  withDropping,
  withLive,
  without,
} from '#shared/read-models/generation.ts';
import type { Servers } from '../servers.ts';

/** The consumer groups that project generations, by their numbers. */
export async function groupsOf(servers: Servers, environment: string, numbers: readonly number[]) {
  const kafka = await servers.kafkaOf(changesTopic(environment)).admin();
  const nameOf = (number: number) => generationGroup(servers.config.namePrefix, environment, number);
  const { groups } = await kafka.describeGroups(numbers.map(nameOf));
  return new Map(numbers.map((number) => [number, groups.find(({ groupId }) => groupId === nameOf(number))]));
}

const REACHED_POLL_MS = 20;
/** How long the other may take to reach the positions of the live one. */
const PATIENCE_MS = 15_000;

/**
 * Makes a generation live; the one that was live continues to be projected.
 * @param patienceMs how long it waits until the other has everything; `null` does not wait.
 * @throws {StoreDataError} `not_found` where there is none of this number, `command_invalid` when it does not reach the
 * live one's positions in time, or when another generation has become live meanwhile.
 */
export async function flip(
  servers: Servers,
  environment: string,
  to: number,
  patienceMs: number | null = PATIENCE_MS,
): Promise<{ from: number; to: number }> {
  const generations = await servers.generations(environment);
  const next = generations.find(({ number }) => number === to);
  const live = generations.find(({ state }) => state === 'live');
  if (next === undefined || live === undefined || next.marker === null) {
    throw notFound(`${environment} has no generation ${to}`);
  }
  const from = live.number;
  if (to === from) throw commandInvalid(`generation ${to} of ${environment} is live already`);
  if (patienceMs !== null) await untilReached(servers, environment, live, next, patienceMs);
  const control = await servers.control();
  await forgetDropped(control, { db: next.db, since: next.marker.created_at }, changesTopic(environment));
  await changePointer(control, environment, (pointer) => {
    if (pointer.live === from) return withLive(pointer, to);
    throw commandInvalid(`generation ${pointer.live} of ${environment} became live meanwhile`);
  });
  return { from, to };
}

async function untilReached(
  servers: Servers,
  environment: string,
  live: KnownGeneration,
  next: KnownGeneration,
  patienceMs: number,
): Promise<void> {
  const topic = changesTopic(environment);
  const target = reachable(await readPositions(live.db, topic), await servers.logBounds(topic));
  for (const end = performance.now() + patienceMs; ; await sleep(REACHED_POLL_MS)) {
    const missing = missingBetween(await readPositions(next.db, topic), target);
    if (missing === 0) return;
    if (performance.now() < end) continue;
    throw commandInvalid(
      `generation ${next.number} of ${environment} lacks ${missing} messages that the live one has: does a projector of its release (projection version ${next.marker?.projection_version}) run?`,
    );
  }
}

/** Projectors and query services poll twice a second, and each may fail to do so a few times. */
const HEARD_MS = 3_000;
/** A projector that was frozen may come back for a moment; longer than this it is not waited for. */
const LEFT_MS = 60_000;
/** How long the database must stay gone: a process that creates an index creates its database again. */
const GONE_MS = 1_000;
const LEFT_POLL_MS = 200;
const DATABASE_DROP_PENDING = 215;

/**
 * Drops a generation that is not live. First the pointer tells all to leave it, then it waits for them, then the database goes; the pointer
 * forgets it last, so that a command that was killed can be run again.
 * @throws {StoreDataError} `command_invalid` for the live one or while projectors don't leave it, `not_found` where there is none.
 */
export async function dropGeneration(servers: Servers, environment: string, number: number): Promise<void> {
  const control = await servers.control();
  await changePointer(control, environment, (pointer) => withDropping(pointer, number));
  await sleep(HEARD_MS);
  await untilLeft(servers, environment, number);
  const found = (await servers.generations(environment)).find((one) => one.number === number);
  if (found !== undefined) {
    do {
      await found.db.dropDatabase().catch(unlessBeingDropped);
      await sleep(GONE_MS);
    } while ((await found.db.listCollections({}, { nameOnly: true }).toArray()).length > 0);
  }
  await changePointer(control, environment, (pointer) => without(pointer, number));
}

/** MongoDB continues a drop whose command ended or took too long, and refuses another one meanwhile. */
function unlessBeingDropped(error: unknown): void {
  if (error instanceof MongoNetworkTimeoutError) return;
  if (!hasCode(error, DATABASE_DROP_PENDING)) throw error;
}

async function untilLeft(servers: Servers, environment: string, number: number): Promise<void> {
  for (const end = performance.now() + LEFT_MS; ; await sleep(LEFT_POLL_MS)) {
    const found = (await groupsOf(servers, environment, [number])).get(number);
    if (found === undefined || found.state === 'Dead') return;
    const { groupId, members } = found;
    if (members.length === 0) {
      await (await servers.kafkaOf(changesTopic(environment)).admin()).deleteGroups([groupId]);
      return;
    }
    if (performance.now() < end) continue;
    throw commandInvalid(
      `generation ${number} of ${environment} is not dropped yet: ${members.length} projectors don't leave its consumer group ${groupId}. Run the command again once they do`,
    );
  }
}
