/**
 * Erases deleted customers from orders, reviews and dead letters. A slice erases customers whom few
 * records name. For the others it begins an erasure: readers mask the customer from the commit on,
 * and pieces follow in the background (`pieces.ts`).
 */
import type { EntityName } from '../../events/entities.ts';
import {
  BY_ID,
  COLLECTIONS,
  type DeadLetter,
  documentId,
  idsOfStore,
  REWRITINGS,
  type Stamp,
  lettersIn,
  writeAll,
} from '../../read-models/collections.ts';
import {
  erasedJson,
  type Erasure,
  NAMING_CUSTOMERS,
  type NamingDocument,
  erasuresIn,
} from '../../read-models/erasures.ts';
import { anybodyOf, NOTHING_KEPT } from '../dead-letters/letter.ts';
import { type TakenPositions, takePosition } from '../slice/epochs.ts';
import type { AnyBulkWriteOperation, ClientSession, Collection, Db, Filter } from 'mongodb';

/** The most that a slice erases, of all customers together; letters may be large. */
export const MAX_SLICE = { documents: 500, characters: 4 * 1_048_576, letters: 100 };

interface Deleted {
  customers: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  stamps: ReadonlyMap<string, TakenPositions & { erasing?: true }>;
  before: ReadonlyMap<string, Stamp>;
}

/**
 * Erases in the session's transaction, before the slice writes its own documents, which need no
 * erasing.
 */
export async function eraseCustomers(
  db: Db,
  session: ClientSession,
  deleted: Deleted,
  partition: number,
) {
  const { customers: erased, stamps, before } = deleted;
  if (erased.size === 0) return;
  const budget = { ...MAX_SLICE };
  const erasures: Erasure[] = [];
  const began_at = new Date();
  const all = [...erased].flatMap(([storeId, ids]) =>
    [...ids.keys()].map((id) => documentId(storeId, id)),
  );
  const named = { customers: { $in: [...all, ...anybodyIn(erased.keys())] } };
  const hasLettersLeft = await eraseLetters(db, session, named, all, MAX_SLICE.letters);
  for (const [storeId, deletions] of erased) {
    const stamp = stamps.get(storeId);
    if (stamp === undefined) continue;
    const customers = [...deletions.keys()].toSorted();
    const work = { db, session, storeId, budget, taken: stamp };
    const left = await eraseDocuments(work, customers);
    const position = before.get(storeId)?.position ?? 0;
    for (const id of hasLettersLeft ? customers : left) {
      erasures.push({
        _id: documentId(storeId, id),
        store_id: storeId,
        position,
        partition,
        began_at,
      });
      stamp.erasing = true;
    }
  }
  await begin(db, session, erasures);
  const stores = new Set(erasures.map(({ store_id }) => store_id));
  const entering = [...stores].filter((storeId) => before.get(storeId)?.erasing !== true);
  await enqueueStores(db, session, entering, partition);
}

async function eraseDocuments(
  work: Erasing,
  customers: readonly string[],
): Promise<ReadonlySet<string>> {
  const left = new Set<string>();
  for (const entity of NAMING_CUSTOMERS) {
    const wanted = customers.filter((id) => !left.has(id));
    const targets = wanted.map((id) => ({ id, upTo: Infinity, after: '' }));
    const end = await eraseKind(work, entity, targets);
    if (end !== null) for (const id of wanted) if (id >= end.id) left.add(id);
  }
  return left;
}

/** Begins erasures. Current ones start again, since new records may name the customer. */
async function begin(db: Db, session: ClientSession, erasures: readonly Erasure[]): Promise<void> {
  const operations = erasures.map(({ _id, store_id, position, partition, began_at }) => ({
    updateOne: {
      filter: { _id },
      update: {
        $set: { position, partition },
        $setOnInsert: { store_id, began_at },
        $unset: { done: '' as const },
      },
      upsert: true,
    },
  }));
  await writeAll(erasuresIn(db), operations, session);
}

export interface Erasing {
  db: Db;
  session: ClientSession;
  storeId: string;
  /**
   * How many documents, and characters of their JSON, may still be read. The last document may
   * exceed it.
   */
  budget: { documents: number; characters: number };
  /** The store's positions: each erased record takes one. */
  taken: TakenPositions;
}

interface Target {
  id: string;
  /** Records up to this position are erased. */
  upTo: number;
  /**
   * The sort key of the last document read; empty at the beginning, and for several targets
   * together.
   */
  after: string;
}

/** Where the budget ended: the first customer with possible rest, and the last key read. */
interface End {
  id: string;
  after: string;
}

/**
 * Erases records of one kind, customer by customer in the order of their ids.
 * @returns `null` when none is left.
 */
export async function eraseKind(
  work: Erasing,
  entity: EntityName,
  targets: readonly Target[],
): Promise<End | null> {
  if (targets.length === 0) return null;
  const { db, session, budget } = work;
  const collection = db.collection<NamingDocument>(COLLECTIONS[entity]);
  const found = collection.find(naming(work.storeId, targets), {
    session,
    hint: 'by_customer',
    sort: { customer_id: 1, rank_key: 1 },
    // One more than the budget, to see whether it is exceeded.
    limit: Math.max(0, budget.documents) + 1,
  });
  const byId = new Map(targets.map((target) => [target.id, target]));
  let end: End | null = null;
  let last: End = { id: '', after: '' };
  const operations: AnyBulkWriteOperation<NamingDocument>[] = [];
  for await (const document of found) {
    const { _id, customer_id, rank_key, feed_position, summary, whole } = document;
    const target = byId.get(customer_id ?? '');
    if (target === undefined) continue;
    if (budget.documents <= 0 || budget.characters <= 0) {
      end = { id: target.id, after: last.id === target.id ? last.after : target.after };
      break;
    }
    budget.documents -= 1;
    budget.characters -= summary.length + whole.length;
    last = { id: target.id, after: rank_key };
    const json = feed_position <= target.upTo ? erasedJson(document) : null;
    if (json === null) continue;
    const $set = { ...json, feed_position: takePosition(work.taken, entity) };
    operations.push({
      updateOne: { filter: { _id, store_id: work.storeId }, update: { $set }, hint: BY_ID },
    });
  }
  await writeAll(collection, operations, session);
  return end;
}

function naming(store_id: string, targets: readonly Target[]): Filter<NamingDocument> {
  const [first] = targets;
  return first !== undefined && targets.length === 1
    ? { store_id, customer_id: first.id, rank_key: { $gt: first.after } }
    : { store_id, customer_id: { $in: targets.map(({ id }) => id) } };
}

/**
 * In place of the customers whom a letter may name: anybody of these stores, and anybody at all.
 */
export function anybodyIn(stores: Iterable<string>): string[] {
  return [...stores, ''].map(anybodyOf);
}

/**
 * Erases letters that pass a filter, at most so many: only place, size, digest and reason stay.
 * @returns whether others are left.
 */
export async function eraseLetters(
  db: Db,
  session: ClientSession,
  filter: Filter<DeadLetter>,
  deleted: readonly string[],
  most: number,
): Promise<boolean> {
  const letters = lettersIn(db);
  const found = await letters
    .find(filter, { session, projection: { customers: 1 }, limit: most + 1, batchSize: most + 2 })
    .toArray();
  // They no longer name customers. A message that may name anybody is perhaps about others: it can
  // be shown from Kafka.
  const forget = { customers: '', positions: '' } as const;
  const isNamed = ({ customers = [] }: Pick<DeadLetter, 'customers'>) =>
    customers.some((one) => deleted.includes(one));
  for (const [isErased, group] of Map.groupBy(found.slice(0, most), isNamed)) {
    const $set = { ...NOTHING_KEPT, ...(isErased && { erased: true as const }) };
    await letters.updateMany(
      { _id: { $in: group.map(({ _id }) => _id) } },
      { $set, $unset: forget },
      { session },
    );
  }
  return found.length > most;
}

/** The queue entry of a store with erasures. */
export interface QueuedStore {
  _id: string;
  store_id: string;
  /** The owner of this partition erases, between its slices. */
  partition: number;
  entered_at: Date;
}

function queueIn(db: Db): Collection<QueuedStore> {
  return db.collection<QueuedStore>(REWRITINGS);
}

function queueId(storeId: string): string {
  return `${storeId}/erasures`;
}

/** Enqueues stores, in the transaction that sets `erasing` in their stamps. */
async function enqueueStores(
  db: Db,
  session: ClientSession,
  storeIds: readonly string[],
  partition: number,
) {
  const entered_at = new Date();
  const operations = storeIds.map((store_id) => ({
    replaceOne: {
      filter: { _id: queueId(store_id) },
      replacement: { store_id, partition, entered_at },
      upsert: true,
    },
  }));
  await writeAll(queueIn(db), operations, session);
}

export async function dequeueStore(db: Db, session: ClientSession, storeId: string): Promise<void> {
  await queueIn(db).deleteOne({ _id: queueId(storeId) }, { session });
}

export async function findQueued(db: Db): Promise<QueuedStore[]> {
  return queueIn(db)
    .find({}, { sort: { entered_at: 1 }, maxTimeMS: 5_000 })
    .toArray();
}

export async function countErasures(db: Db): Promise<{ open: number; oldest: Date | null }> {
  const [found] = await erasuresIn(db)
    .aggregate<{ open: number; oldest: Date }>(
      [{ $group: { _id: null, open: { $sum: 1 }, oldest: { $min: '$began_at' } } }],
      { maxTimeMS: 5_000 },
    )
    .toArray();
  return found ?? { open: 0, oldest: null };
}

/**
 * Compares a store's erasures with its stamp and its place in the queue, read in the session's
 * snapshot.
 */
export async function verifyErasures(
  db: Db,
  session: ClientSession,
  storeId: string,
  stamp: Stamp | null,
  compare: (what: string, stored: string, counted: string) => void,
): Promise<void> {
  const some = (has: boolean) => (has ? 'some' : 'none');
  const expected = some((await findFirst(db, session, storeId)) !== null);
  compare('erasures under way, by the stamp', some(stamp?.erasing === true), expected);
  compare('erasures under way, by the queue', some(await isQueued(db, session, storeId)), expected);
}

/** Repairs the queue in the session's transaction. @returns whether the stamp needs `erasing`. */
export async function repairErasures(
  db: Db,
  session: ClientSession,
  storeId: string,
): Promise<boolean> {
  const first = await findFirst(db, session, storeId);
  if (first === null) await dequeueStore(db, session, storeId);
  else if (!(await isQueued(db, session, storeId)))
    await enqueueStores(db, session, [storeId], first.partition);
  return first !== null;
}

async function findFirst(db: Db, session: ClientSession, storeId: string): Promise<Erasure | null> {
  return erasuresIn(db).findOne({ _id: idsOfStore(storeId) }, { session });
}

async function isQueued(db: Db, session: ClientSession, storeId: string): Promise<boolean> {
  return (await queueIn(db).findOne({ _id: queueId(storeId) }, { session })) !== null;
}
