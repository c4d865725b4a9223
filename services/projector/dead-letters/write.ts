/** Writing dead letters, in the same transaction that passes their messages by. */
import type { AnyBulkWriteOperation, ClientSession, Collection, Db } from 'mongodb';
import {
  DEAD_LETTERS,
  type DeadLetter,
  documentId,
  type Tombstone,
  tombstoneId,
  TOMBSTONES,
} from '#shared/read-models/collections.ts';
import { NOTHING_KEPT } from './letter.ts';
import type { LetterRoom } from './room.ts';

/**
 * Writes dead letters in the session's transaction.
 * @param room `null` where they replace letters that are there.
 */
export async function writeDeadLetters(
  db: Db,
  session: ClientSession,
  letters: readonly DeadLetter[],
  room: Pick<LetterRoom, 'admit'> | null,
): Promise<void> {
  if (letters.length === 0) return;
  const allowed = await withoutDeleted(db, session, letters);
  const { single, gathered } = room === null ? { single: allowed, gathered: [] } : await room.admit(allowed);
  const operations: AnyBulkWriteOperation<DeadLetter>[] = single.map((letter) => ({
    replaceOne: { filter: { _id: letter._id }, replacement: letter, upsert: true },
  }));
  for (const group of Map.groupBy(gathered, ({ reason }) => reason).values()) {
    const operation = gather(group);
    if (operation !== null) operations.push(operation);
  }
  await letterCollection(db).bulkWrite(operations, { session, ordered: false });
}

/** Deleted customers take their data along: letters that are about them or name them keep their place and reason alone. */
export async function eraseDeadLetters(
  db: Db,
  session: ClientSession,
  erased: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<void> {
  const customers = [...erased].flatMap(([storeId, ids]) => [...ids].map((id) => documentId(storeId, id)));
  if (customers.length === 0) return;
  await letterCollection(db).updateMany(
    { customers: { $in: customers } },
    { $set: { ...NOTHING_KEPT, erased: true } },
    { session },
  );
}

/** Nothing is kept of messages that name a customer who is deleted by now. */
async function withoutDeleted(
  db: Db,
  session: ClientSession,
  letters: readonly DeadLetter[],
): Promise<readonly DeadLetter[]> {
  const graves = new Set(letters.flatMap(({ customers }) => customers ?? []).map(graveOf));
  if (graves.size === 0) return letters;
  const found = await db
    .collection<Tombstone>(TOMBSTONES)
    .find({ _id: { $in: [...graves] } }, { session, projection: { _id: 1 }, batchSize: 10_000 })
    .toArray();
  if (found.length === 0) return letters;
  const deleted = new Set(found.map(({ _id }) => _id));
  return letters.map((letter) =>
    letter.customers?.some((customer) => deleted.has(graveOf(customer)))
      ? { ...letter, ...NOTHING_KEPT, erased: true }
      : letter,
  );
}

function graveOf(customer: string): string {
  const [storeId = '', id = ''] = customer.split('/');
  return tombstoneId('customer', storeId, id);
}

/** Adds letters of one partition and reason to the one that stands for them. */
function gather(letters: readonly DeadLetter[]): AnyBulkWriteOperation<DeadLetter> | null {
  const [first] = letters;
  const last = letters.at(-1);
  if (first === undefined || last === undefined) return null;
  const { topic, partition, offset, reason, detail, published_at } = first;
  return {
    updateOne: {
      filter: { _id: `${topic}/${partition}/${reason}` },
      update: {
        $setOnInsert: {
          topic,
          partition,
          offset,
          reason,
          detail,
          published_at,
          value_bytes: 0,
          ...NOTHING_KEPT,
        },
        // The time of the last, so that it expires only once none has come for long.
        $max: { dead_at: last.dead_at, 'gathered.last_offset': last.gathered?.last_offset ?? last.offset },
        $inc: { 'gathered.count': letters.reduce((sum, { gathered }) => sum + (gathered?.count ?? 1), 0) },
      },
      upsert: true,
    },
  };
}

function letterCollection(db: Db): Collection<DeadLetter> {
  return db.collection<DeadLetter>(DEAD_LETTERS);
}
