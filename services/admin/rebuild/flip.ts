/** Flips an environment to another generation, once that has everything that is answered now. */
import { setTimeout as sleep } from 'node:timers/promises';
import { forgetDropped } from '#shared/projection/dead-letters/dropped.ts';
import { commandInvalid, notFound } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { changePointer, pointersIn, withLive } from '#shared/read-models/generation-pointer.ts';
import { findGenerations, type KnownGeneration } from '#shared/read-models/generation.ts';
import {
  hasReached,
  type InstallationServers,
  readLogBounds,
  readPositions,
  targetOf,
} from './installation.ts';

const LOOK_MS = 20;
/** How long the other may take to reach the positions of the live one. */
const PATIENCE_MS = 15_000;

export interface Flipped {
  from: number;
  to: number;
}

export interface FlipOptions {
  /** Does not wait until the other has everything. */
  force?: boolean;
  patienceMs?: number;
}

/**
 * Makes a generation live; the one that was live goes on being projected.
 * @throws {StoreDataError} `not_found` where there is none of this number, `command_invalid` when it does not reach the
 * live one's positions in time, or when another generation has become live meanwhile.
 */
export async function flip(
  servers: InstallationServers,
  environment: string,
  to: number,
  { force = false, patienceMs = PATIENCE_MS }: FlipOptions = {},
): Promise<Flipped> {
  const { databases } = servers;
  const generations = await findGenerations(databases, environment);
  const next = generations.find(({ number }) => number === to);
  const live = generations.find(({ state }) => state === 'live');
  if (next === undefined || live === undefined || next.marker === null) {
    throw notFound(`${environment} has no generation ${to}`);
  }
  if (next.number === live.number) {
    throw commandInvalid(`generation ${to} of ${environment} is live already`);
  }
  if (!force) await untilReached(servers, environment, live, next, patienceMs);
  const { control } = databases;
  await forgetDropped(control, { db: next.db, since: next.marker.created_at }, changesTopic(environment));
  await changePointer(control, environment, (pointer) => {
    if (pointer.live !== live.number) {
      throw commandInvalid(`generation ${pointer.live} of ${environment} became live meanwhile`);
    }
    return withLive(pointer, to);
  });
  return { from: live.number, to };
}

/** The generation that was live before. @throws {StoreDataError} `not_found` where there is none any more. */
export async function previousOf({ databases }: InstallationServers, environment: string): Promise<number> {
  const pointer = await pointersIn(databases.control).findOne({ _id: environment });
  if (pointer?.previous !== undefined) return pointer.previous;
  throw notFound(`${environment} has no generation to go back to`);
}

async function untilReached(
  servers: InstallationServers,
  environment: string,
  live: KnownGeneration,
  next: KnownGeneration,
  patienceMs: number,
): Promise<void> {
  const target = targetOf(
    await readPositions(live.db, environment),
    await readLogBounds(servers, environment),
  );
  for (const end = performance.now() + patienceMs; ; await sleep(LOOK_MS)) {
    const positions = await readPositions(next.db, environment);
    if (hasReached(positions, target)) return;
    if (performance.now() < end) continue;
    const missing = [...target].reduce(
      (sum, [partition, position]) => sum + Math.max(0, position - (positions.get(partition) ?? 0)),
      0,
    );
    throw commandInvalid(
      `generation ${next.number} of ${environment} lacks ${missing} messages that the live one has: does a projector of its release (projection version ${next.marker?.projection_version}) run?`,
    );
  }
}
