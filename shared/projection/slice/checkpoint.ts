/**
 * Slices, applied in one transaction each, and checkpoints, the positions of partitions. A new
 * owner claims them from the previous one.
 */
import { hash, randomUUID } from 'node:crypto';
import type { ClientSession, Collection, Db, Filter, FindOptions } from 'mongodb';
import { damagedBatch, type LogMessage, batchDigest } from '../../kafka/message.ts';
import { activeSpan, traced } from '../../tracing.ts';
import { type Clock, systemClock } from '../../waiting.ts';
import { StoreDataError } from '../../errors.ts';
import type { Positions } from '../../kafka/positions.ts';
import { CHECKPOINTS } from '../../read-models/collections.ts';

/** A part of a fetched batch. */
export interface Slice {
  topic: string;
  partition: number;
  messages: readonly LogMessage[];
  next: number;
}

export interface SliceLimits {
  events: number;
  bytes: number;
}

/**
 * How many messages from `start` on fit into one slice: at least one, however large. A damaged
 * batch is alone.
 */
export function sliceLength(
  messages: readonly LogMessage[],
  start: number,
  limits: SliceLimits,
): number {
  let bytes = 0;
  let length = 0;
  while (length < limits.events) {
    const message = messages[start + length];
    if (message === undefined) break;
    bytes += message.value?.length ?? 0;
    if (length > 0 && (bytes > limits.bytes || damagedBatch(message) !== undefined)) break;
    length += 1;
  }
  return length;
}

/**
 * Runs work in a transaction, whose read and write concerns and read preference override all
 * others.
 * @throws every error, after an abort.
 */
export async function runInTransaction<T>(
  session: ClientSession,
  work: () => Promise<T>,
): Promise<T> {
  return traced(activeSpan()?.child('transaction', 'internal'), async () => {
    session.startTransaction({
      readConcern: { level: 'snapshot' },
      writeConcern: { w: 'majority' },
      readPreference: 'primary',
      maxCommitTimeMS: 10_000,
    });
    try {
      const result = await work();
      await session.commitTransaction();
      return result;
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
      throw error;
    }
  });
}

export interface Checkpoint {
  /** `<topic>/<partition>` */
  _id: string;
  topic: string;
  partition: number;
  position: number;
  /** Changes with every claim. */
  owner: string;
  /** The server session in which the owner runs its transactions. */
  session: ClientSession['id'];
  /** The last message applied, by which a replaced topic is recognised. */
  last_message: LastMessage | null;
  updated_at: Date;
}

export interface LastMessage {
  offset: number;
  /** When Kafka took it, milliseconds since 1970. */
  timestamp: number;
  /** Of its key and value, or of the batch that it stands for. */
  digest: string;
}

/** The identity of a message. */
export function identityOf(message: LogMessage): LastMessage {
  const { offset, timestamp } = message;
  const isWhole = message.unreadable === undefined && message.valueBytes === undefined;
  const digest = isWhole ? undefined : batchDigest(message);
  return {
    offset: Number(offset),
    timestamp: Number(timestamp),
    digest: digest ?? contentDigest(message),
  };
}

function contentDigest({ key, value }: LogMessage): string {
  // The key's length separates key and value.
  const text = Buffer.concat([Buffer.from(`${key?.length ?? -1} `), key ?? EMPTY, value ?? EMPTY]);
  return hash('sha256', text, 'base64url').slice(0, 22);
}

const EMPTY = Buffer.alloc(0);

export function isSameMessage(last: LastMessage, message: LogMessage): boolean {
  if (isSameIdentity(last, identityOf(message))) return true;
  // After an upgrade its unreadable batch may be readable.
  return last.offset === Number(message.offset) && last.digest === batchDigest(message);
}

/** Whether two identities are of the same message, or both `null`. */
export function isSameIdentity(a: LastMessage | null, b: LastMessage | null): boolean {
  if (a === null || b === null) return a === b;
  return a.offset === b.offset && a.timestamp === b.timestamp && a.digest === b.digest;
}

/** A claimed checkpoint: what its owner needs to move it. */
export interface Claim {
  readonly checkpoints: Collection<Checkpoint>;
  readonly id: string;
  readonly owner: string;
  readonly session: ClientSession;
  position: number;
  lastMessage: LastMessage | null;
}

export const checkpointsIn = (db: Db): Collection<Checkpoint> => db.collection(CHECKPOINTS);

export function checkpointId(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/**
 * A process killed inside a transaction leaves it open on the server for a minute, with the checkpoint locked. The checkpoint names the
 * owner's session, which is killed here. With a previous claim only if that still owns the checkpoint: otherwise a consumer that lost its
 * partition would kill its successor's session.
 * @param former the owner's own previous claim, when it claims again after a failure; `null` at assignment.
 * @throws {StoreDataError} `fenced` when a previous claim is no longer the owner's.
 */
export async function claimCheckpoint(
  db: Db,
  topic: string,
  partition: number,
  former: Claim | null,
  { clock = systemClock, newOwner = (): string => randomUUID() } = {},
): Promise<Claim> {
  const checkpoints = checkpointsIn(db);
  const id = checkpointId(topic, partition);
  const stored = await checkpoints.findOne({ _id: id }, { maxTimeMS: 5_000 });
  if (former !== null && stored?.owner !== former.owner) {
    throw fenced(id);
  }
  if (stored?.session !== undefined) {
    await db.client.db('admin').command({ killSessions: [stored.session] });
  }
  const owner = newOwner();
  const session = db.client.startSession();
  try {
    const claimed = await checkpoints.findOneAndUpdate(
      former === null ? { _id: id } : { _id: id, owner: former.owner },
      {
        $set: { owner, session: session.id, updated_at: new Date(clock.wall()) },
        $setOnInsert: { topic, partition, position: 0, last_message: null },
      },
      { upsert: former === null, returnDocument: 'after', maxTimeMS: 5_000 },
    );
    if (claimed === null) throw fenced(id);
    void former?.session.endSession().catch(() => undefined);
    return {
      checkpoints,
      id,
      owner,
      session,
      position: claimed.position,
      lastMessage: claimed.last_message,
    };
  } catch (error) {
    await session.endSession();
    throw error;
  }
}

/**
 * Applies a slice in one transaction of its claim's session, which first moves the checkpoint behind the slice.
 * @param apply gets what moves the checkpoint, and throws `fenced` when the partition has another owner, position or last message.
 */
export async function applyWithCheckpoint<T>(
  claim: Claim,
  slice: Slice,
  apply: (moveCheckpoint: () => Promise<void>) => Promise<T>,
  clock = systemClock,
): Promise<T> {
  // A damaged batch proves nothing about the log.
  const newest = slice.messages.findLast((message) => damagedBatch(message) === undefined);
  const last = newest === undefined ? claim.lastMessage : identityOf(newest);
  const result = await runInTransaction(claim.session, () =>
    apply(() => writeCheckpoint(claim, { position: slice.next, last_message: last }, clock)),
  );
  claim.position = slice.next;
  claim.lastMessage = last;
  return result;
}

/** Finds the checkpoint where its claim left it. */
function placeOf({ id, owner, position, lastMessage }: Claim): Filter<Checkpoint> {
  return { _id: id, owner, position, last_message: lastMessage };
}

async function writeCheckpoint(
  claim: Claim,
  moved: Partial<Checkpoint>,
  clock: Clock,
): Promise<void> {
  const { modifiedCount } = await claim.checkpoints.updateOne(
    placeOf(claim),
    { $set: { ...moved, updated_at: new Date(clock.wall()) } },
    { session: claim.session },
  );
  if (modifiedCount === 0) throw fenced(claim.id);
}

/**
 * For a transaction that does not move the checkpoint. It writes it nevertheless, so that a claim waits for its end: a session that no
 * checkpoint names could not be ended.
 * @throws {StoreDataError} `fenced` when the checkpoint has another owner, position or last message.
 */
export function holdCheckpoint(claim: Claim, clock = systemClock): Promise<void> {
  return writeCheckpoint(claim, {}, clock);
}

function fenced(id: string): StoreDataError {
  return new StoreDataError('fenced', `${id} has another owner, or is gone`);
}

export async function readTopicCheckpoints(
  db: Db,
  topic: string,
  options: FindOptions = {},
): Promise<Map<number, Checkpoint>> {
  const found = await checkpointsIn(db).find({ topic }, options).toArray();
  return new Map(found.map((one) => [one.partition, one]));
}

export async function readPositions(
  db: Db,
  topic: string,
  options: FindOptions = {},
): Promise<Positions> {
  const found = await readTopicCheckpoints(db, topic, options);
  return new Map([...found].map(([partition, { position }]) => [partition, position]));
}

/** Whether a checkpoint is its claim's, and where that left it: a restored backup may have another. */
export async function isHere(claim: Claim): Promise<boolean> {
  return (await claim.checkpoints.findOne(placeOf(claim), { maxTimeMS: 5_000 })) !== null;
}
