/**
 * A store's documents in one generation: where they lie, how many there are, and their removal in pieces, each of which is followed by a
 * rest. If the command is killed, the next one removes what is left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db, Document, Filter } from 'mongodb';
import { inBatches } from '#shared/waiting.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { storesNamedBy } from '#shared/projection/dead-letters/letter.ts';
import {
  CHECKPOINTS,
  DEAD_LETTERS,
  type DeadLetter,
  INDEXES,
  RANK_NODES,
  STAMPS,
  TOMBSTONES,
} from '#shared/read-models/collections.ts';
import type { TreeName } from '#shared/read-models/rank-tree/nodes.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { toMessage } from '../dead-letters/messages.ts';

/** Documents that go together. */
const PIECE = 500;
/** For each millisecond that a piece took, so many follow in which others have MongoDB to themselves. */
const REST = 2;
/** Letters hold up to a mebibyte each. */
const LETTERS_BATCH = 20;

/** How many documents, by collection. */
export type Counts = Record<string, number>;

/** The collections that hold documents of stores by their `_id`; the stamp first. */
const COLLECTIONS_OF_STORES = [
  STAMPS,
  ...Object.keys(INDEXES).filter((name) => ![STAMPS, DEAD_LETTERS, CHECKPOINTS].includes(name)),
];

function ofStore(collection: string, storeId: string): Filter<Document> {
  const beginningWith = (prefix: string) => ({ _id: { $gte: `${prefix}/`, $lt: `${prefix}0` } as never });
  if (collection === STAMPS) return { _id: storeId as never };
  if (collection === TOMBSTONES)
    return { $or: ENTITY_NAMES.map((entity) => beginningWith(`${entity}/${storeId}`)) };
  if (collection === RANK_NODES) {
    const trees = Object.keys(RANK_TREES) as TreeName[];
    return { $or: trees.map((tree) => beginningWith(`${tree}/${storeId}`)) };
  }
  return beginningWith(storeId);
}

/** Counts a store's documents by collection, its dead letters included; without empty collections. */
export async function countDocuments(db: Db, topic: string, storeId: string): Promise<Counts> {
  const counts: Counts = {};
  for (const name of COLLECTIONS_OF_STORES) {
    add(counts, name, await db.collection(name).countDocuments(ofStore(name, storeId)));
  }
  add(counts, DEAD_LETTERS, await countLetters(db, topic, storeId));
  return counts;
}

/** Removes a store's documents, its dead letters included. @returns how many there were. */
export async function removeDocuments(db: Db, topic: string, storeId: string): Promise<Counts> {
  const removed: Counts = {};
  const options = { projection: { _id: 1 }, limit: PIECE, batchSize: PIECE + 1 };
  for (const name of COLLECTIONS_OF_STORES) {
    for (;;) {
      const found = await db.collection(name).find(ofStore(name, storeId), options).toArray();
      if (found.length === 0) break;
      const ids = found.map(({ _id }) => _id);
      add(removed, name, await removePiece(db, name, ids));
    }
  }
  await removeLetters(db, topic, storeId, removed);
  return removed;
}

/** Counts the dead letters of a topic that name a store. */
export async function countLetters(db: Db, topic: string, storeId: string): Promise<number> {
  let letters = 0;
  for await (const _id of lettersOf(db, topic, storeId)) letters += 1;
  return letters;
}

/** Removes the dead letters of a topic that name a store. @param removed what they are added to. */
export async function removeLetters(db: Db, topic: string, storeId: string, removed: Counts): Promise<void> {
  for await (const ids of inBatches(lettersOf(db, topic, storeId), PIECE)) {
    add(removed, DEAD_LETTERS, await removePiece(db, DEAD_LETTERS, ids));
  }
}

async function removePiece(db: Db, collection: string, ids: readonly unknown[]): Promise<number> {
  const began = performance.now();
  const { deletedCount } = await db.collection(collection).deleteMany({ _id: { $in: [...ids] as never[] } });
  await sleep((performance.now() - began) * REST);
  return deletedCount;
}

/** The letters whose key, or whose message, names the store. */
async function* lettersOf(db: Db, topic: string, storeId: string): AsyncGenerator<string> {
  const letters = db.collection<DeadLetter>(DEAD_LETTERS);
  for await (const letter of letters.find({ topic }, { batchSize: LETTERS_BATCH })) {
    if (storesNamedBy(toMessage(letter)).includes(storeId)) yield letter._id;
  }
}

function add(counts: Counts, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}

/** Several counts as one. */
export function addUp(all: readonly Counts[]): Counts {
  const sum: Counts = {};
  for (const counts of all) for (const [name, count] of Object.entries(counts)) add(sum, name, count);
  return sum;
}
