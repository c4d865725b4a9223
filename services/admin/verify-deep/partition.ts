/**
 * Verifies one partition: its log is read to the checkpoint, twice, once for what counts and once for the newest states,
 * which are compared in one snapshot of the database. What the projector applies meanwhile is not in the snapshot.
 */
import type { KafkaMessage } from 'kafkajs';
import type { ClientSession, Db, MongoClient } from 'mongodb';
import { StoreDataError } from '#shared/errors.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import type { Change } from '#shared/events/change.ts';
import { CHECKPOINTS, DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { type Checkpoint, checkpointId } from '#projector/consumer/checkpoint.ts';
import { droppedLettersIn } from '#projector/dead-letters/dropped.ts';
import type { LogReader } from '../log/reader.ts';
import { compareDocuments, type NewestState } from './documents.ts';
import type { Findings } from './findings.ts';
import { History } from './history.ts';
import { findLeftovers, findMissingTombstones } from './leftovers.ts';

/** Documents that are read at once. */
const AT_ONCE = 500;
/** `SnapshotTooOld`, `SnapshotUnavailable`. */
const SNAPSHOT_GONE = new Set([239, 246]);

export interface PartitionToVerify {
  client: MongoClient;
  db: Db;
  /** The control database, with what operators decided. */
  control: Db;
  reader: LogReader;
  topic: string;
  partition: number;
  /** Only this store; `null` for all. */
  only: string | null;
  findings: Findings;
  /** Told how many messages were read, of so many. */
  progress: (read: number, of: number) => void;
}

export interface VerifiedPartition {
  stores: readonly string[];
  /** Entities that exist. */
  entities: number;
  /** Messages up to the checkpoint. */
  messages: number;
}

/**
 * Verifies a partition.
 * @throws {StoreDataError} `history_lost` when the log does not reach back to its beginning.
 */
export async function verifyPartition(work: PartitionToVerify): Promise<VerifiedPartition> {
  const { client, reader, partition, only, progress } = work;
  const history = new History(only);
  const early = await positionOf(work);
  const dead = await deadOffsets(work);
  /** Events of today that were none when they came, by their offsets. */
  const held = new Map<number, Change>();
  let read = 0;
  const fold = (letters: ReadonlySet<number>) => (messages: readonly KafkaMessage[]) => {
    for (const message of messages) {
      const change = history.read(message);
      const offset = Number(message.offset);
      if (change === null) continue;
      if (letters.has(offset)) held.set(offset, change);
      else history.take(change, offset);
    }
    read += messages.length;
    progress(read, 2 * early);
  };
  await reader.read({ partition, from: 0, to: early }, fold(dead));
  return client.withSession({ snapshot: true }, async (session) => {
    const inSnapshot = { ...work, db: forSnapshots(work.db), control: forSnapshots(work.control) };
    const to = await positionOf(inSnapshot, session);
    const stillDead = await deadOffsets(inSnapshot, session);
    await reader.read({ partition, from: early, to }, fold(stillDead));
    for (const [offset, change] of held) if (!stillDead.has(offset)) history.take(change, offset);
    try {
      return await compare(inSnapshot, session, history, to, () => progress((read += AT_ONCE), 2 * to));
    } catch (error) {
      if (!isSnapshotGone(error)) throw error;
      throw new StoreDataError(
        'environment_unavailable',
        'MongoDB gave up the snapshot that was compared: verify store by store (--store), or raise its parameter minSnapshotHistoryWindowInSeconds',
        { cause: error },
      );
    }
  });
}

async function compare(
  { db, reader, partition, findings }: PartitionToVerify,
  session: ClientSession,
  history: History,
  to: number,
  tick: () => void,
): Promise<VerifiedPartition> {
  const wanted = history.newestOffsets();
  let next = 0;
  let states: NewestState[] = [];
  const flush = async () => {
    await compareDocuments(db, session, history, states, findings);
    states = [];
    tick();
  };
  await reader.read({ partition, from: wanted[0] ?? to, to }, async (messages) => {
    for (const message of messages) {
      const offset = Number(message.offset);
      if (offset !== wanted[next]) continue;
      next += 1;
      const change = history.read(message);
      if (change !== null) states.push({ change, offset });
      if (states.length >= AT_ONCE) await flush();
    }
  });
  await flush();
  for (const storeId of history.stores.keys()) {
    await findLeftovers(db, session, history, storeId, findings);
  }
  findMissingTombstones(history, findings);
  return { stores: [...history.stores.keys()], entities: wanted.length, messages: to };
}

async function positionOf(
  { db, topic, partition }: PartitionToVerify,
  session?: ClientSession,
): Promise<number> {
  const checkpoint = await db
    .collection<Checkpoint>(CHECKPOINTS)
    .findOne({ _id: checkpointId(topic, partition) }, session === undefined ? {} : { session });
  return checkpoint?.position ?? 0;
}

/** Where messages lie that were passed by: those with a letter of their own, and those that an operator dropped. */
async function deadOffsets(
  { db, control, topic, partition }: PartitionToVerify,
  session?: ClientSession,
): Promise<Set<number>> {
  const options = { batchSize: 10_000, ...(session === undefined ? {} : { session }) };
  const letters = await db
    .collection<DeadLetter>(DEAD_LETTERS)
    .find({ topic, partition, gathered: { $exists: false } }, { ...options, projection: { offset: 1 } })
    .toArray();
  const dropped = await droppedLettersIn(control)
    .find({ topic, partition, reason: null }, { ...options, projection: { from: 1 } })
    .toArray();
  return new Set([...letters.map(({ offset }) => offset), ...dropped.map(({ from }) => from)]);
}

function isSnapshotGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && SNAPSHOT_GONE.has(Number(error.code));
}
