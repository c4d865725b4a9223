/** Makes another generation live, once that has everything that is answered now; and drops one that is not live. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoNetworkTimeoutError, MongoServerError } from 'mongodb';
import { commandInvalid, notFound } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import type { Admin } from '#shared/kafka/client.ts';
import { missingBetween, reachable, readLogBounds } from '#shared/kafka/positions.ts';
import { forgetDropped } from '#shared/projection/dead-letters/decisions.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import {
  changePointer,
  findGenerations,
  generationGroup,
  type KnownGeneration,
  pointersIn,
  PROJECTION_VERSION,
  withDropping,
  withLive,
  without,
} from '#shared/read-models/generation.ts';
import type { Servers } from '../connection/servers.ts';

/** What work on the generations of an environment needs. */
export interface EnvironmentServers {
  environment: string;
  databases: Databases;
  /** Of the Kafka that has the environment's changes. */
  kafka: Admin;
  prefix: string;
  /** The release's, unless a test plays another release. */
  projectionVersion: number;
}

export async function serversOf(servers: Servers, environment: string): Promise<EnvironmentServers> {
  return {
    environment,
    databases: await servers.databases(environment),
    kafka: await servers.kafkaOf(changesTopic(environment)).admin(),
    prefix: servers.config.namePrefix,
    projectionVersion: PROJECTION_VERSION,
  };
}

const REACHED_POLL_MS = 20;
/** How long the other may take to reach the positions of the live one. */
const PATIENCE_MS = 15_000;

export interface Flipped {
  from: number;
  to: number;
}

/**
 * Makes a generation live; the one that was live continues to be projected.
 * @param patienceMs how long it waits until the other has everything; `null` does not wait.
 * @throws {StoreDataError} `not_found` where there is none of this number, `command_invalid` when it does not reach the
 * live one's positions in time, or when another generation has become live meanwhile.
 */
export async function flip(
  servers: EnvironmentServers,
  to: number,
  patienceMs: number | null = PATIENCE_MS,
): Promise<Flipped> {
  const { environment, databases } = servers;
  const generations = await findGenerations(databases, environment);
  const next = generations.find(({ number }) => number === to);
  const live = generations.find(({ state }) => state === 'live');
  if (next === undefined || live === undefined || next.marker === null) {
    throw notFound(`${environment} has no generation ${to}`);
  }
  const from = live.number;
  if (to === from) throw commandInvalid(`generation ${to} of ${environment} is live already`);
  if (patienceMs !== null) await untilReached(servers, live, next, patienceMs);
  const { control } = databases;
  await forgetDropped(control, { db: next.db, since: next.marker.created_at }, changesTopic(environment));
  await changePointer(control, environment, (pointer) => {
    if (pointer.live === from) return withLive(pointer, to);
    throw commandInvalid(`generation ${pointer.live} of ${environment} became live meanwhile`);
  });
  return { from, to };
}

/** The generation that was live before. @throws {StoreDataError} `not_found` where it was dropped. */
export async function previousOf({ environment, databases }: EnvironmentServers): Promise<number> {
  const pointer = await pointersIn(databases.control).findOne({ _id: environment });
  if (pointer?.previous !== undefined) return pointer.previous;
  throw notFound(`${environment} has no generation to go back to`);
}

async function untilReached(
  { environment, kafka }: EnvironmentServers,
  live: KnownGeneration,
  next: KnownGeneration,
  patienceMs: number,
): Promise<void> {
  const topic = changesTopic(environment);
  const target = reachable(await readPositions(live.db, topic), await readLogBounds(kafka, topic));
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
export async function dropGeneration(servers: EnvironmentServers, number: number): Promise<void> {
  const { environment, databases } = servers;
  const { control } = databases;
  await changePointer(control, environment, (pointer) => withDropping(pointer, number));
  await sleep(HEARD_MS);
  await untilLeft(servers, number);
  const found = (await findGenerations(databases, environment)).find((one) => one.number === number);
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
  if (!(error instanceof MongoServerError && error.code === DATABASE_DROP_PENDING)) throw error;
}

/** Waits until its consumer group has no members, and removes the group. */
async function untilLeft({ environment, kafka, prefix }: EnvironmentServers, number: number): Promise<void> {
  const group = generationGroup(prefix, environment, number);
  for (const end = performance.now() + LEFT_MS; ; await sleep(LEFT_POLL_MS)) {
    const { groups } = await kafka.describeGroups([group]);
    const [found] = groups;
    if (found === undefined || found.state === 'Dead') return;
    if (found.members.length === 0) {
      await kafka.deleteGroups([group]);
      return;
    }
    if (performance.now() > end) {
      throw commandInvalid(
        `generation ${number} of ${environment} is not dropped yet: ${found.members.length} projectors don't leave its consumer group ${group}. Run the command again once they do`,
      );
    }
  }
}
