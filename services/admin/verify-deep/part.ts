/**
 * Verifies a part of a topic: one partition, or some stores in all of them. The log is read to the checkpoints, twice, once for
 * what counts and once for the newest states, which are compared in one snapshot of the database. What the projector applies
 * meanwhile is not in the snapshot.
 */
import type { ClientSession, Db, MongoClient } from 'mongodb';
import { StoreDataError } from '#shared/errors.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import type { Change } from '#shared/events/change.ts';
import { CHECKPOINTS, DEAD_LETTERS, type DeadLetter, tombstoneId } from '#shared/read-models/collections.ts';
import { type Checkpoint, checkpointId } from '#shared/projection/slice/checkpoint.ts';
import { droppedLettersIn } from '#shared/projection/dead-letters/dropped.ts';
import type { LogReader } from '../log/reader.ts';
import { compareDocuments, type NewestState } from './documents.ts';
import type { Findings } from './findings.ts';
import { countByStore, History, type Place } from './history.ts';
import { findLeftovers, findMissingTombstones } from './leftovers.ts';

/** Documents that are read at once. */
const AT_ONCE = 500;
/** `SnapshotTooOld`, `SnapshotUnavailable`. */
const SNAPSHOT_GONE = new Set([239, 246]);

export interface PartToVerify {
  client: MongoClient;
  db: Db;
  /** The control database, with what operators decided. */
  control: Db;
  reader: LogReader;
  topic: string;
  partitions: readonly number[];
  /** Only these stores; `null` for all. */
  only: ReadonlySet<string> | null;
  findings: Findings;
  /** Told how many messages were read, of so many. */
  progress: (read: number, of: number) => void;
}

export interface VerifiedPart {
  /** The stores, and how many entities exist of each. */
  stores: ReadonlyMap<string, number>;
  /** Messages up to the checkpoints. */
  messages: number;
}

/**
 * Verifies a part.
 * @throws {StoreDataError} `history_lost` when the log does not reach back to its beginning.
 */
export async function verifyPart(work: PartToVerify): Promise<VerifiedPart> {
  const { client, reader, partitions, only, progress } = work;
  const history = new History(only, partitions.length > 1);
  /** Events of today that were none when they came. */
  const held: { change: Change; place: Place }[] = [];
  const early = await positionsOf(work);
  const dead = await deadPlaces(work);
  let read = 0;
  const fold = async (
    from: ReadonlyMap<number, number>,
    to: ReadonlyMap<number, number>,
    letters: Set<string>,
  ) => {
    for (const partition of partitions) {
      const range = { partition, from: from.get(partition) ?? 0, to: to.get(partition) ?? 0 };
      await reader.read(range, (messages) => {
        for (const message of messages) {
          const change = history.read(message);
          if (change === null) continue;
          const place = { partition, offset: Number(message.offset) };
          if (letters.has(nameOf(place))) held.push({ change, place });
          else history.take(change, place);
        }
        read += messages.length;
        progress(read, 2 * sumOf(to));
      });
    }
  };
  await fold(new Map(), early, dead);
  return client.withSession({ snapshot: true }, async (session) => {
    const inSnapshot = { ...work, db: forSnapshots(work.db), control: forSnapshots(work.control) };
    const to = await positionsOf(inSnapshot, session);
    const stillDead = await deadPlaces(inSnapshot, session);
    await fold(early, to, stillDead);
    for (const { change, place } of held) if (!stillDead.has(nameOf(place))) history.take(change, place);
    try {
      return await compare(inSnapshot, session, history, to, () =>
        progress((read += AT_ONCE), 2 * sumOf(to)),
      );
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
  { db, reader, partitions, findings }: PartToVerify,
  session: ClientSession,
  history: History,
  to: ReadonlyMap<number, number>,
  tick: () => void,
): Promise<VerifiedPart> {
  let states: NewestState[] = [];
  /** Versions that lie in the log twice are judged together. */
  const disputed: NewestState[] = [];
  const flush = async () => {
    await compareDocuments(db, session, history, states, findings);
    states = [];
    tick();
  };
  for (const partition of partitions) {
    const wanted = history.newestOffsets(partition);
    const end = to.get(partition) ?? 0;
    let next = 0;
    await reader.read({ partition, from: wanted[0] ?? end, to: end }, async (messages) => {
      for (const message of messages) {
        const offset = Number(message.offset);
        if (offset !== wanted[next]) continue;
        next += 1;
        const change = history.read(message);
        if (change === null) continue;
        const { entity, storeId, id } = change;
        const isDisputed = history.entities.get(tombstoneId(entity, storeId, id))?.others !== undefined;
        (isDisputed ? disputed : states).push({ change, place: { partition, offset } });
        if (states.length >= AT_ONCE) await flush();
      }
    });
  }
  states.push(...disputed);
  await flush();
  for (const storeId of history.stores) {
    await findLeftovers(db, session, history, storeId, findings);
  }
  findMissingTombstones(history, findings);
  return { stores: countByStore(history), messages: sumOf(to) };
}

/** The partitions' checkpoints; 0 where there is none yet. */
async function positionsOf(
  { db, topic, partitions }: PartToVerify,
  session?: ClientSession,
): Promise<Map<number, number>> {
  const ids = partitions.map((partition) => checkpointId(topic, partition));
  const found = await db
    .collection<Checkpoint>(CHECKPOINTS)
    .find({ _id: { $in: ids } }, session === undefined ? {} : { session })
    .toArray();
  const positions = new Map(found.map(({ partition, position }) => [partition, position]));
  return new Map(partitions.map((partition) => [partition, positions.get(partition) ?? 0]));
}

/** Where messages lie that were passed by: those with a letter of their own, and those that an operator dropped. */
async function deadPlaces(
  { db, control, topic, partitions }: PartToVerify,
  session?: ClientSession,
): Promise<Set<string>> {
  const options = { batchSize: 10_000, ...(session === undefined ? {} : { session }) };
  const partition = { $in: [...partitions] };
  const letters = await db
    .collection<DeadLetter>(DEAD_LETTERS)
    .find(
      { topic, partition, gathered: { $exists: false } },
      { ...options, projection: { partition: 1, offset: 1 } },
    )
    .toArray();
  const dropped = await droppedLettersIn(control)
    .find({ topic, partition, reason: null }, { ...options, projection: { partition: 1, from: 1 } })
    .toArray();
  return new Set([
    ...letters.map((letter) => nameOf(letter)),
    ...dropped.map((letter) => nameOf({ partition: letter.partition, offset: letter.from })),
  ]);
}

function nameOf({ partition, offset }: Place): string {
  return `${partition}/${offset}`;
}

function sumOf(positions: ReadonlyMap<number, number>): number {
  return [...positions.values()].reduce((sum, position) => sum + position, 0);
}

function isSnapshotGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && SNAPSHOT_GONE.has(Number(error.code));
}
