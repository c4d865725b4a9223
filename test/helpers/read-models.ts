/** Looks into the read models of an installation, for tests that compare what different ways led to. */
import type { Db, Document } from 'mongodb';
import { isUnavailable } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { SHIFTED_FIELDS, jsonOf, DEFAULT_OFFSET, shiftJson } from '#shared/read-models/local-time.ts';
import {
  CATEGORY_PRODUCTS,
  CHECKPOINTS,
  COLLECTIONS,
  createReadModels,
  DEAD_LETTERS,
  ERASURES,
  STAMPS,
  TOMBSTONES,
  stampsIn,
} from '#shared/read-models/collections.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import { eventually, type Installation } from './installation.ts';
import { endsOf } from './topics.ts';

/** The live read models of an environment. */
export async function readModels(installation: Installation, environment = installation.environment): Promise<Db> {
  const generation = await findLiveGeneration(installation.databases, environment);
  if (generation === null) throw new Error(`${environment} has no generation`);
  return generation.db;
}

/** The ids of documents, sorted; read as commands read, so that these see them too. */
export async function idsIn(db: Db, name: string, filter: Document = {}): Promise<string[]> {
  const collection = db.collection(name, { readConcern: { level: 'majority' } });
  const found = await collection.find(filter, { projection: { _id: 1 } }).toArray();
  return found.map(({ _id }) => String(_id)).toSorted();
}

let empty = 0;

/** New read models with nothing in them, which no generation names. They go with the installation. */
export async function emptyReadModels({ mongodb, config }: Installation): Promise<Db> {
  empty += 1;
  const db = mongodb.db(`${config.namePrefix}_empty${empty}`);
  await createReadModels(db);
  return db;
}

/**
 * Everything that an event can have changed, in a form that two environments can be compared in: bodies as
 * they are answered, in the store's present offset.
 */
export async function dump(db: Db): Promise<Record<string, unknown[]>> {
  const content: Record<string, unknown[]> = {};
  const stamps = await stampsIn(db).find().toArray();
  const offsets = new Map(stamps.map(({ _id, timezone_offset }) => [_id, timezone_offset ?? DEFAULT_OFFSET]));
  for (const name of [...Object.values(COLLECTIONS), CATEGORY_PRODUCTS, TOMBSTONES, STAMPS]) {
    const documents = await db
      .collection(name)
      .find({}, { sort: { _id: 1 } })
      .toArray();
    content[name] = documents
      // Positions depend on the slices where customers are erased.
      .map(({ feed_position: _place, ...document }): Document => document)
      .map((document) => (name === STAMPS ? withoutTreeShapes(document) : document))
      .map((document) => answered(document, offsets.get(document['store_id'])));
  }
  const letters = await db
    .collection(DEAD_LETTERS)
    .find({}, { sort: { partition: 1, offset: 1 } })
    .toArray();
  content[DEAD_LETTERS] = letters.map(({ partition, offset, reason, detail }) => ({
    partition,
    offset,
    reason,
    detail,
  }));
  return content;
}

/**
 * Where a tree is cut depends on the slices; how many records it counts does not. A record that came and went inside one
 * slice leaves no count, elsewhere it leaves a count of nothing. The version of a layout is never the same twice.
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

/** A collection that was just made is in no snapshot for a moment. */
export function unlessUnavailable(error: unknown): [] {
  if (!isUnavailable(error)) throw error;
  return [];
}

/** Waits until the live read models stand at the end of the changes topic: for as long as they move, and `timeoutMs` where they don't. */
export function caughtUp(
  installation: Installation,
  environment = installation.environment,
  timeoutMs = 120_000,
): Promise<void> {
  const live = () => readModels(installation, environment).catch(() => null);
  return appliedIn(live, installation, environment, timeoutMs);
}

/** The same of other read models than the live ones. */
export async function appliedIn(
  find: () => Promise<Db | null>,
  installation: Installation,
  environment: string,
  timeoutMs = 120_000,
): Promise<void> {
  const topic = changesTopic(environment);
  const ends = await endsOf(installation.kafkaOf(topic), topic);
  let before = '';
  let movedAt = Date.now();
  await eventually(
    `${topic} is applied`,
    async () => {
      if (Date.now() - movedAt > timeoutMs) throw new Error(`${topic} has not moved for ${timeoutMs} ms`);
      // As the query service reads: a snapshot comes a moment later than what other reads see.
      const checkpoints = await (
        await find()
      )
        ?.collection<Checkpoint>(CHECKPOINTS)
        .find({ topic }, { readConcern: 'snapshot' })
        .toArray()
        .catch(unlessUnavailable);
      const positions = new Map(checkpoints?.map(({ partition, position }) => [partition, position]));
      const now = JSON.stringify([...positions]);
      if (now !== before) movedAt = Date.now();
      before = now;
      return [...ends].every(([partition, end]) => (positions.get(partition) ?? 0) >= end);
    },
    Number.POSITIVE_INFINITY,
  );
}

/** Waits until nothing is stored any longer of customers whose deletion is applied. */
export async function erased(
  installation: Installation,
  environment = installation.environment,
  timeoutMs = 120_000,
): Promise<void> {
  await eventually(
    `nothing is left to be erased in ${environment}`,
    async () => (await (await readModels(installation, environment)).collection(ERASURES).countDocuments()) === 0,
    timeoutMs,
  );
}
