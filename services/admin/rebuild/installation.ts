/** What work on generations needs to know: the installation's servers, how far generations are, and what one must have reached to take another's place. */
import type { Admin } from 'kafkajs';
import type { ClientSession, Db } from 'mongodb';
import { changesTopic } from '#shared/events/topics.ts';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import type { Servers } from '../connection/servers.ts';

export interface InstallationServers {
  databases: Databases;
  /** Of the Kafka that has the environment's changes. */
  kafka: Admin;
  prefix: string;
  /** The release's, unless a test plays another release. */
  projectionVersion: number;
}

/** Connects to what is needed for an environment. */
export async function installationOf(servers: Servers, environment: string): Promise<InstallationServers> {
  return {
    databases: await servers.databases(environment),
    kafka: await servers.kafkaOf(changesTopic(environment)).admin(),
    prefix: servers.config.namePrefix,
    projectionVersion: PROJECTION_VERSION,
  };
}

/** By partition: the offset that is applied next. */
export type Positions = ReadonlyMap<number, number>;

/** By partition: where its log begins, and the offset that the next message gets. */
export type LogBounds = ReadonlyMap<number, { start: number; end: number }>;

/** The positions of a generation; partitions without a checkpoint are left out. */
export async function readPositions(
  db: Db,
  environment: string,
  session?: ClientSession,
): Promise<Positions> {
  const found = await db
    .collection<Checkpoint>(CHECKPOINTS)
    .find({ topic: changesTopic(environment) }, session === undefined ? {} : { session })
    .toArray();
  return new Map(found.map(({ partition, position }) => [partition, position]));
}

/** The bounds of an environment's log of changes. */
export async function readLogBounds(
  { kafka }: Pick<InstallationServers, 'kafka'>,
  environment: string,
): Promise<LogBounds> {
  const offsets = await kafka.fetchTopicOffsets(changesTopic(environment));
  return new Map(
    offsets.map(({ partition, low, high }) => [partition, { start: Number(low), end: Number(high) }]),
  );
}

/** Whether some positions are nowhere before others. */
export function hasReached(positions: Positions, others: Positions): boolean {
  return [...others].every(([partition, position]) => (positions.get(partition) ?? 0) >= position);
}

/**
 * What a generation must have reached to take another's place: the other's positions, as far as there is a log. A
 * generation that was made from another log may stand behind the end of this one.
 */
export function targetOf(positions: Positions, bounds: LogBounds): Positions {
  return new Map(
    [...positions].map(([partition, position]) => [
      partition,
      Math.min(position, bounds.get(partition)?.end ?? 0),
    ]),
  );
}

/** How many messages of a log are applied, and how many there are. */
export function countApplied(positions: Positions, bounds: LogBounds): { applied: number; total: number } {
  let applied = 0;
  let total = 0;
  for (const [partition, { start, end }] of bounds) {
    total += end - start;
    applied += Math.min(Math.max((positions.get(partition) ?? 0) - start, 0), end - start);
  }
  return { applied, total };
}
