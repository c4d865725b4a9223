/** Reads the read models of an installation, and normalizes them for comparisons. */
import type { Db, Document } from 'mongodb';
import { isUnavailable } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import { jsonOf, SHIFTED_FIELDS, shiftJson } from '#shared/records/stored-json.ts';
import {
  CATEGORY_PRODUCTS,
  CHECKPOINTS,
  COLLECTIONS,
  createReadModels,
  DEAD_LETTERS,
  ERASURES,
  STAMPS,
  type Stamp,
  TOMBSTONES,
  stampsIn,
} from '#shared/read-models/collections.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import { eventually } from './eventually.ts';
import { type Installation } from './installation.ts';
import { endsOf } from './topics.ts';

/** The live read models of an environment. */
export async function readModels(
  installation: Installation,
  environment = installation.environment,
): Promise<Db> {
  const generation = await findLiveGeneration(installation.databases, environment);
  if (generation === null) throw new Error(`${environment} has no generation`);
  return generation.db;
}

/** The sorted ids of documents, with the read concern of commands, so that these see them, too. */
export async function idsIn(db: Db, name: string, filter: Document = {}): Promise<string[]> {
  const collection = db.collection(name, { readConcern: { level: 'majority' } });
  const found = await collection.find(filter, { projection: { _id: 1 } }).toArray();
  return found.map(({ _id }) => String(_id)).toSorted();
}

/** The stamp of a store that has one. */
export async function stampOf(db: Db, storeId = 's1'): Promise<Stamp> {
  const found = await stampsIn(db).findOne({ _id: storeId });
  if (found === null) throw new Error(`${storeId} has no stamp`);
  return found;
}

let empty = 0;

/** New empty read models outside of any generation, removed with the installation. */
export async function emptyReadModels({ mongodb, config }: Installation): Promise<Db> {
  empty += 1;
  const db = mongodb.db(`${config.namePrefix}_empty${empty}`);
  await createReadModels(db);
  return db;
}

/**
 * Everything that events can change, normalized to compare two environments: bodies have the
 * store's current offset, as in answers.
 */
export async function dump(db: Db): Promise<Record<string, unknown[]>> {
  const content: Record<string, unknown[]> = {};
  const stamps = await stampsIn(db).find().toArray();
  const offsets = new Map(
    stamps.map(({ _id, timezone_offset }) => [_id, timezone_offset ?? DEFAULT_OFFSET]),
  );
  for (const name of [...Object.values(COLLECTIONS), CATEGORY_PRODUCTS, TOMBSTONES, STAMPS]) {
    const documents = await db
      .collection(name)
      .find({}, { sort: { _id: 1 } })
      .toArray();
    content[name] = documents
      // After erasures positions depend on the slices.
      .map(({ feed_position: _place, ...document }): Document => document)
      .map((document) => (name === STAMPS ? withoutTreeShapes(document) : document))
      .map((document) => answered(document, offsets.get(document['store_id'])));
  }
  content[DEAD_LETTERS] = await db
    .collection(DEAD_LETTERS)
    .find({}, { sort: { partition: 1, offset: 1 } })
    .project({ _id: 0, partition: 1, offset: 1, reason: 1, detail: 1 })
    .toArray();
  return content;
}

/**
 * Slices determine where a tree is split, but not how many records it counts. A record that came
 * and went leaves no count within a slice, and a count of 0 otherwise. The version of a layout is
 * unique.
 */
function withoutTreeShapes({
  ranks,
  layout: _layout,
  position: _position,
  positions: _positions,
  epochs: _epochs,
  slice_partition: _partition,
  slice_end: _end,
  ...stamp
}: Document): Document {
  const trees = Object.entries((ranks ?? {}) as Record<string, { counts?: Record<string, number> }>)
    .map(([tree, { counts = {} }]): [string, [string, number][]] => [
      tree,
      Object.entries(counts).filter(([, count]) => count !== 0),
    ])
    .filter(([, counts]) => counts.length > 0)
    .map(([tree, counts]) => [tree, Object.fromEntries(counts)]);
  return { ...stamp, ranks: Object.fromEntries(trees) };
}

function answered(document: Document, offset: string | undefined): Document {
  const { offset: madeFor, ...rest } = document;
  if (typeof madeFor !== 'string' || offset === undefined) return document;
  for (const field of SHIFTED_FIELDS) {
    const body: unknown = rest[field];
    const json = typeof body === 'string' ? jsonOf(field, body) : null;
    if (json !== null) rest[field] = JSON.parse(shiftJson(json, madeFor, offset));
  }
  return rest;
}

/** A new collection is missing in snapshots for a moment. */
export function unlessUnavailable(error: unknown): [] {
  if (!isUnavailable(error)) throw error;
  return [];
}

/**
 * Waits until the live read models have applied the changes topic; fails after `timeoutMs` without
 * progress.
 */
export function caughtUp(
  installation: Installation,
  environment = installation.environment,
  timeoutMs = 120_000,
): Promise<void> {
  const live = () => readModels(installation, environment).catch(() => null);
  return appliedIn(live, installation, environment, timeoutMs);
}

/** The same for other read models. */
export async function appliedIn(
  find: () => Promise<Db | null>,
  installation: Installation,
  environment: string,
  timeoutMs = 120_000,
): Promise<void> {
  const topic = changesTopic(environment);
  const ends = await endsOf(installation.kafka, topic);
  let before = '';
  let movedAt = Date.now();
  await eventually(
    `${topic} is applied`,
    async () => {
      if (Date.now() - movedAt > timeoutMs)
        throw new Error(`${topic} has not moved for ${timeoutMs} ms`);
      // The query service reads snapshots, which lag a moment behind other reads.
      const checkpoints = await (
        await find()
      )
        ?.collection<Checkpoint>(CHECKPOINTS)
        .find({ topic }, { readConcern: 'snapshot' })
        .toArray()
        .catch(unlessUnavailable);
      const positions = new Map(
        checkpoints?.map(({ partition, position }) => [partition, position]),
      );
      const now = JSON.stringify([...positions]);
      if (now !== before) movedAt = Date.now();
      before = now;
      return [...ends].every(([partition, end]) => (positions.get(partition) ?? 0) >= end);
    },
    Number.POSITIVE_INFINITY,
  );
}

/** Waits until all applied erasures of customers are complete. */
export async function erased(
  installation: Installation,
  environment = installation.environment,
  timeoutMs = 120_000,
): Promise<void> {
  const isErased = async () => {
    const db = await readModels(installation, environment);
    return (await db.collection(ERASURES).countDocuments()) === 0;
  };
  await eventually(`nothing is left to be erased in ${environment}`, isErased, timeoutMs);
}
