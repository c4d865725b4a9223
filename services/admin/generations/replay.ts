/**
 * Applies the log to a private database, which no pointer names, with the code of a rebuild,
 * without dead and dropped messages.
 */
import type { ClientSession, Db, MongoClient } from 'mongodb';
import type { FindErased } from '#shared/access/erased-stores.ts';
import { unavailable } from '#shared/errors.ts';
import type { LogReader } from '#shared/kafka/log-reader.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import type { Positions } from '#shared/kafka/positions.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';
import { leaveOutDropped } from '#shared/projection/dead-letters/decisions.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { type Slice, sliceLength } from '#shared/projection/slice/checkpoint.ts';
import { createReadModels, lettersIn } from '#shared/read-models/collections.ts';
import { inTransaction } from '../transaction.ts';

const LIMITS = { events: 500, bytes: 4_194_304 };

/**
 * How often a command updates its marker, and after which silence another command drops its
 * database.
 */
const ALIVE_MS = { every: 5_000, silence: 60_000 };

interface Marker {
  _id: 'verification';
  alive_at: Date;
}

/**
 * Runs work with a private database, which is dropped at the end; after a kill the next command drops it.
 * @throws {StoreDataError} `environment_unavailable` where another command dropped it, because this process was frozen.
 */
export async function withPrivateDatabase<T>(
  client: MongoClient,
  prefix: string,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  await dropAbandoned(client, prefix);
  const db = client.db(`${prefix}${Date.now().toString(36)}`);
  const markers = markersIn(db);
  await markers.insertOne({ _id: 'verification', alive_at: new Date() });
  let isKept = true;
  const sayAlive = async () => {
    const update = [{ $set: { alive_at: '$$NOW' } }];
    isKept &&= (await markers.updateOne({ _id: 'verification' }, update)).matchedCount === 1;
  };
  const alive = startPeriodicTask({ run: sayAlive, everyMs: ALIVE_MS.every });
  try {
    await createReadModels(db);
    const result = await work(db);
    await sayAlive();
    if (isKept) return result;
    throw unavailable('the command was frozen, and another one dropped its database: run it again');
  } finally {
    await alive.stop();
    // If this fails, the next command drops it.
    await db.dropDatabase().catch(() => undefined);
  }
}

function markersIn(db: Db) {
  return db.collection<Marker>('generation');
}

async function dropAbandoned(client: MongoClient, prefix: string): Promise<void> {
  const { databases } = await client.db().admin().listDatabases({ nameOnly: true });
  for (const { name } of databases) {
    const began = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    // Other databases with this prefix have more parts.
    if (!/^[0-9a-z]{8}$/.test(began)) continue;
    const db = client.db(name);
    const silence = { $subtract: ['$$NOW', '$alive_at'] };
    const [marker] = await markersIn(db)
      .aggregate<{ silence: number }>([{ $project: { silence } }])
      .toArray();
    if (marker === undefined || marker.silence > ALIVE_MS.silence) await db.dropDatabase();
  }
}

interface ReplayOptions {
  db: Db;
  control: Db;
  reader: LogReader;
  findErased: FindErased;
  topic: string;
  only: string | undefined;
  progress: (read: number) => void;
}

export function createReplay({
  db,
  control,
  reader,
  findErased,
  topic,
  only,
  progress,
}: ReplayOptions) {
  /** Stores with events in several partitions: the order of these is unknown. */
  const spread = new Set<string>();
  const epochs = new Epochs();
  const partitions = new Map<string, number>();
  /** Messages that had a dead letter, by partition and offset. */
  const dead = new Map<string, { partition: number; message: LogMessage }>();
  let read = 0;

  const applySlice = async (slice: Slice): Promise<void> => {
    const { messages } = slice;
    if (messages.length === 0) return;
    try {
      const { given } = await inTransaction(db.client, (session) =>
        applyChanges(db, session, slice, { epochs, findErased }),
      );
      epochs.committed(given);
    } catch (error) {
      if (messages.length === 1) throw error;
      // A transaction can be too large.
      const middle = Math.ceil(messages.length / 2);
      await applySlice({ ...slice, messages: messages.slice(0, middle) });
      await applySlice({ ...slice, messages: messages.slice(middle) });
    }
  };
  const applyMessages = async (partition: number, messages: readonly LogMessage[]) =>
    applySlice(await leaveOutDropped(control, { topic, partition, messages, next: 0 }));

  return {
    spread,

    /** Applies the messages between positions. @param letters from `deadLetterPlaces`. */
    async apply(from: Positions, to: Positions, letters: ReadonlySet<string>): Promise<void> {
      for (const [partition, end] of to) {
        await reader.read(
          { partition, from: from.get(partition) ?? 0, to: end },
          async (messages) => {
            const wanted = messages.filter((message) => {
              const store = message.key?.toString('utf8') ?? '';
              if (store !== (only ?? store)) return false;
              if ((partitions.get(store) ?? partition) !== partition) spread.add(store);
              partitions.set(store, partition);
              const place = `${partition}/${message.offset}`;
              if (letters.has(place)) dead.set(place, { partition, message });
              return !letters.has(place);
            });
            for (let start = 0; start < wanted.length;) {
              const part = wanted.slice(start, start + sliceLength(wanted, start, LIMITS));
              await applyMessages(partition, part);
              start += part.length;
            }
            progress((read += messages.length));
          },
        );
      }
    },

    /** Applies messages whose letter was retried meanwhile. */
    async applyRetried(letters: ReadonlySet<string>): Promise<void> {
      for (const [place, { partition, message }] of dead) {
        if (!letters.has(place)) await applyMessages(partition, [message]);
      }
    },
  };
}

/** The messages with a dead letter of their own, as `<partition>/<offset>`. */
export async function deadLetterPlaces(
  db: Db,
  topic: string,
  session?: ClientSession,
): Promise<Set<string>> {
  const options = {
    batchSize: 10_000,
    projection: { partition: 1, offset: 1 },
    ...(session && { session }),
  };
  const letters = lettersIn(db).find({ topic, gathered: { $exists: false } }, options);
  return new Set(await letters.map(({ partition, offset }) => `${partition}/${offset}`).toArray());
}
