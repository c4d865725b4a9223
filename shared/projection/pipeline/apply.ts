/**
 * Applies a slice in one transaction. The checkpoint is written first: a process that lost the
 * partition writes nothing.
 */
import { type ClientSession, type Db, type AnyBulkWriteOperation, MongoServerError } from 'mongodb';
import type { FindErased } from '../../access/erased-stores.ts';
import {
  type DeadLetter,
  documentId,
  BY_ID,
  COLLECTIONS,
  documentsWith,
  type ReadModelDocument,
  type Stamp,
  type Tombstone,
  tombstonesWith,
  stampsIn,
  tombstonesIn,
  writeAll,
} from '../../read-models/collections.ts';
import type { Slice } from '../slice/checkpoint.ts';
import { toDeadLetter } from '../dead-letters/letter.ts';
import { type Deletions, type LetterLimits, writeDeadLetters } from '../dead-letters/write.ts';
import { decode, fold, type Rejected, withoutErasedStores, ChangeReader } from './decode.ts';
import { TreeCache } from '../rank-tree/loaded-tree.ts';
import { Epochs, type GivenPositions, type Given } from '../slice/epochs.ts';
import { plan, type Plan } from './plan.ts';
import { readStored, type Stored } from './stored.ts';
import type { EntityName } from '../../events/entities.ts';
import { markStoreRecords } from '../access/apply.ts';
import { writeLayouts } from './layouts.ts';
import { eraseCustomers } from '../erasure/erase.ts';
import { maintainTrees, type RootChange } from '../rank-tree/change.ts';

interface ApplyOptions {
  /** For dead letters; `null` if they replace existing letters. */
  limits?: LetterLimits | null;
  /**
   * Moves the partition's checkpoint behind the slice; absent unless the slice is the partition's
   * next one.
   */
  checkpoint?: () => Promise<void>;
  findErased: FindErased;
  /**
   * Those of this process and generation. The caller reports `AppliedSlice.given` to them once
   * committed.
   */
  epochs?: Epochs;
  reader?: ChangeReader;
  trees?: TreeCache;
}

export interface AppliedSlice {
  plan: Plan;
  deadLetters: DeadLetter[];
  given: GivenPositions;
}

export async function applyChanges(
  db: Db,
  session: ClientSession,
  slice: Slice,
  {
    limits = null,
    checkpoint,
    findErased,
    epochs = new Epochs(),
    reader = new ChangeReader(),
    trees = new TreeCache(),
  }: ApplyOptions,
): Promise<AppliedSlice> {
  await checkpoint?.();
  const decoded = await decode(slice.messages, reader);
  let chains = fold(decoded.entries);
  const stored = await readStored(db, session, chains);
  const left = await withoutErasedStores(slice, decoded, stored.stamps, findErased);
  if (left.skipped > 0) chains = fold(left.entries);
  const planned = plan(chains, stored);
  planned.outdated += left.skipped;
  // Freed early: they would survive several garbage collections until the transaction ends.
  chains.clear();
  decoded.entries.length = 0;
  left.entries.length = 0;
  const given = await writePlan({
    db,
    session,
    slice,
    // Stamps name the slice that is its partition's next one.
    isNext: checkpoint !== undefined,
    plan: planned,
    stamps: stored.stamps,
    epochs,
    trees,
    erasedAt: left.erasedAt,
  });
  const deadLetters = lettersOf(slice, [...left.rejected, ...planned.failed]);
  await writeDeadLetters(db, session, deadLetters, limits, deletionsIn(slice.messages, planned));
  epochs.forget(given);
  return { plan: planned, deadLetters, given };
}

function lettersOf(
  { topic, partition, messages }: Slice,
  rejected: readonly Rejected[],
): DeadLetter[] {
  return rejected.flatMap(({ at, rejection }) => {
    const message = messages[at];
    return message === undefined ? [] : [toDeadLetter(topic, partition, message, rejection)];
  });
}

function deletionsIn(messages: Slice['messages'], { erased }: Plan): Deletions {
  return new Map(
    [...erased].flatMap(([storeId, deletions]) =>
      [...deletions].map(
        ([id, at]) => [documentId(storeId, id), Number(messages[at]?.offset)] as const,
      ),
    ),
  );
}

/** The writes of a slice, and their context. */
interface Writing {
  db: Db;
  session: ClientSession;
  slice: Slice;
  /** Whether the slice is its partition's next one. */
  isNext: boolean;
  plan: Plan;
  /** The stamps before. */
  stamps: Stored['stamps'];
  epochs: Epochs;
  trees: TreeCache;
  /** When the stores were erased, for stamps that begin again. */
  erasedAt: ReadonlyMap<string, Date>;
}

/** In few round trips. @returns the positions that it gives. */
async function writePlan(writing: Writing): Promise<GivenPositions> {
  const { db, session, plan, stamps, trees } = writing;
  // Every effective change moves a stamp.
  if (plan.stamps.size === 0) return new Map();
  await writeTombstones(writing);
  // Before the documents, which need no erasing, also if a customer is back.
  const deleted = { customers: plan.erased, stamps: plan.stamps, before: stamps };
  await eraseCustomers(db, session, deleted, writing.slice.partition);
  for (const entity of Object.keys(COLLECTIONS) as EntityName[]) {
    await writeDocuments(writing, entity);
    // Free them: the transaction takes a while longer.
    plan.inserts.delete(entity);
    plan.replacements.delete(entity);
  }
  const layouts = await writeLayouts(db, session, plan.layouts);
  const roots = await maintainTrees(db, session, plan.trees, stamps, trees);
  const given = await writeStamps(writing, roots, layouts);
  await markStoreRecords(db, session, plan.storeRecords);
  return given;
}

/**
 * Replaced documents are removed and inserted: a replacement each costs MongoDB a third more
 * (decision 0028).
 */
async function writeDocuments({ db, session, plan }: Writing, entity: EntityName): Promise<void> {
  const inserts = plan.inserts.get(entity) ?? [];
  const replacements = plan.replacements.get(entity) ?? [];
  const removals = plan.removals.get(entity) ?? [];
  const ids = [...removals, ...replacements.map(({ _id }) => _id)];
  if (ids.length > 0) {
    const collection = db.collection<ReadModelDocument>(COLLECTIONS[entity]);
    await collection.deleteMany(documentsWith(ids), { session, hint: BY_ID });
  }
  await insertDocuments(db, session, COLLECTIONS[entity], [...inserts, ...replacements]);
}

async function writeTombstones({
  db,
  session,
  plan: { tombstones, restored },
}: Writing): Promise<void> {
  const operations: AnyBulkWriteOperation<Tombstone>[] = tombstones.map(
    ({ _id, ...replacement }) => ({
      replaceOne: { filter: tombstonesWith([_id]), replacement, upsert: true, hint: BY_ID },
    }),
  );
  if (restored.length > 0)
    operations.push({ deleteMany: { filter: tombstonesWith(restored), hint: BY_ID } });
  await writeAll(tombstonesIn(db), operations, session);
}

async function writeStamps(
  { db, session, slice, isNext, plan, stamps, epochs, erasedAt }: Writing,
  roots: readonly RootChange[],
  layouts: ReadonlyMap<string, string>,
): Promise<GivenPositions> {
  const given = new Map<string, Given>();
  const rootsOf = Map.groupBy(roots, ({ storeId }) => storeId);
  const operations = [...plan.stamps].map(([_id, change]): AnyBulkWriteOperation<Stamp> => {
    const { counters, counts, tombstones, offset, erasing } = change;
    const $inc = { ...counters, ...under('counts', counts), ...under('tombstones', tombstones) };
    // They follow the stamp as read in this transaction: another process that gives positions
    // meanwhile causes a write conflict.
    const { fields: $set, given: taken } = epochs.fieldsAfter(_id, stamps.get(_id), change);
    given.set(_id, taken);
    if (isNext) Object.assign($set, { slice_partition: slice.partition, slice_end: slice.next });
    if (typeof offset === 'string') $set['timezone_offset'] = offset;
    if (erasing) $set['erasing'] = true;
    const erased_at = erasedAt.get(_id);
    const layout = layouts.get(_id);
    if (layout !== undefined) $set['layout'] = layout;
    for (const { tree, counts: facets, nodes } of rootsOf.get(_id) ?? []) {
      Object.assign($inc, under(`ranks.${tree}.counts`, facets));
      if (nodes !== undefined) Object.assign($set, under(`ranks.${tree}`, { ...nodes }));
    }
    const $setOnInsert = { store_id: _id, ...(erased_at !== undefined && { erased_at }) };
    const $unset = offset === null ? { $unset: { timezone_offset: '' as const } } : {};
    return {
      updateOne: { filter: { _id }, update: { $inc, $set, $setOnInsert, ...$unset }, upsert: true },
    };
  });
  await writeAll(stampsIn(db), operations, session);
  return given;
}

/** Fields of an embedded document, as an update names them. */
function under<V>(field: string, members: Record<string, V>): Record<string, V> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [`${field}.${name}`, value]),
  );
}

/**
 * One command has 16 MiB, and a character may take three bytes; the rest of a document is small.
 */
const MAX_CHARACTERS = 3 * 1_048_576;

interface Inserted {
  writeErrors?: ConstructorParameters<typeof MongoServerError>[0][];
}

/**
 * The driver's `insertMany` serializes each document separately and copies it three times (decision
 * 0028).
 * @throws {MongoServerError}
 */
export async function insertDocuments(
  db: Db,
  session: ClientSession,
  collection: string,
  documents: readonly ReadModelDocument[],
): Promise<void> {
  for (const part of inParts(documents)) {
    const reply: Inserted = await db.command(
      { insert: collection, documents: part, ordered: false },
      { session },
    );
    // Errors of single documents are in a successful reply.
    const [error] = reply.writeErrors ?? [];
    if (error !== undefined) throw new MongoServerError(error);
  }
}

function* inParts(
  documents: readonly ReadModelDocument[],
): Generator<readonly ReadModelDocument[]> {
  let start = 0;
  let characters = 0;
  for (const [at, document] of documents.entries()) {
    const more = charactersOf(document);
    if (at > start && characters + more > MAX_CHARACTERS) {
      yield documents.slice(start, at);
      start = at;
      characters = 0;
    }
    characters += more;
  }
  if (start < documents.length) yield documents.slice(start);
}

function charactersOf(document: ReadModelDocument): number {
  let characters = 0;
  for (const value of Object.values(document))
    if (typeof value === 'string') characters += value.length;
  return characters;
}
