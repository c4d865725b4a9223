/**
 * Generations: one complete set of an environment's read models, in a database of its own, with a marker
 * that tells it from a dropped database. The control database points to the live one.
 */
import { randomUUID } from 'node:crypto';
import type { Db, MongoClient } from 'mongodb';
import { StoreDataError } from '../errors.ts';

/**
 * The version of what the projections write. Whoever changes a response, a read model or an index raises
 * it; a generation made with another version is not touched by this release.
 */
export const PROJECTION_VERSION = 2;

export interface GenerationMarker {
  _id: 'marker';
  /** Unique for ever, so that an ETag of a database that was made anew never matches. */
  id: string;
  environment: string;
  number: number;
  projection_version: number;
  created_at: Date;
}

interface GenerationPointer {
  /** The environment. */
  _id: string;
  live: number;
}

export interface Generation {
  marker: GenerationMarker;
  db: Db;
}

/** Name of the database with keys, revocations and pointers, which no rebuild touches. */
export function controlDatabase(client: MongoClient, prefix: string): Db {
  return client.db(`${prefix}_control`);
}

function generationDatabase(client: MongoClient, prefix: string, environment: string, number: number): Db {
  return client.db(`${prefix}_${environment}_g${number}`);
}

/**
 * The live generation of an environment.
 * @returns `null` where none was made yet.
 * @throws {StoreDataError} `generation_unsuitable` when the pointer leads to a database without its marker.
 */
export async function findLiveGeneration(
  client: MongoClient,
  prefix: string,
  environment: string,
): Promise<Generation | null> {
  const pointers = controlDatabase(client, prefix).collection<GenerationPointer>('generations');
  const pointer = await pointers.findOne({ _id: environment });
  if (pointer === null) return null;
  const db = generationDatabase(client, prefix, environment, pointer.live);
  const marker = await db.collection<GenerationMarker>('generation').findOne({ _id: 'marker' });
  if (marker === null) {
    throw new StoreDataError(
      'generation_unsuitable',
      `generation ${pointer.live} of ${environment} has no marker: database ${db.databaseName} was dropped or never filled`,
    );
  }
  return { marker, db };
}

/**
 * The live generation, made if there is none; safe to call from several processes at once.
 * @throws {StoreDataError} `generation_unsuitable` when it was made with another projection version.
 */
export async function openLiveGeneration(
  client: MongoClient,
  prefix: string,
  environment: string,
): Promise<Generation> {
  const pointers = controlDatabase(client, prefix).collection<GenerationPointer>('generations');
  if ((await pointers.findOne({ _id: environment })) === null) {
    const db = generationDatabase(client, prefix, environment, 1);
    const marker: Omit<GenerationMarker, '_id'> = {
      id: randomUUID(),
      environment,
      number: 1,
      projection_version: PROJECTION_VERSION,
      created_at: new Date(),
    };
    await db
      .collection<GenerationMarker>('generation')
      .updateOne({ _id: 'marker' }, { $setOnInsert: marker }, { upsert: true });
    await pointers.updateOne({ _id: environment }, { $setOnInsert: { live: 1 } }, { upsert: true });
  }
  const generation = await findLiveGeneration(client, prefix, environment);
  if (generation === null)
    throw new StoreDataError('generation_unsuitable', `${environment} has no generation`);
  if (generation.marker.projection_version !== PROJECTION_VERSION) {
    throw new StoreDataError(
      'generation_unsuitable',
      `generation ${generation.marker.number} of ${environment} was made with projection version ${generation.marker.projection_version}, this release has ${PROJECTION_VERSION}: run the release that made it, or rebuild the generation`,
    );
  }
  return generation;
}
