/**
 * Generations: one complete set of an environment's read models, in a database of its own, with a marker
 * that distinguishes it from a dropped database. The control database points to the live one and lists the others.
 */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { StoreDataError } from '../errors.ts';
import type { Databases } from './databases.ts';
import { type OtherState, pointersIn } from './generation-pointer.ts';

/**
 * The version of what the projections write. Raise it with every change of a response, a read model or an index; this release leaves
 * generations of other versions alone.
 */
export const PROJECTION_VERSION = 6;

export interface GenerationMarker {
  _id: 'marker';
  /** Unique for ever, so that an ETag of a database that was made anew never matches. */
  id: string;
  environment: string;
  number: number;
  projection_version: number;
  created_at: Date;
}

/** By what metrics of both services name a generation, so that an alert can compare them. */
export const GENERATION_LABELS = ['environment', 'generation', 'projection_version', 'marker'] as const;

/** What these labels are of a generation. */
export function generationLabels(
  marker: GenerationMarker,
): Record<(typeof GENERATION_LABELS)[number], string> {
  return {
    environment: marker.environment,
    generation: generationLabel(marker),
    projection_version: String(marker.projection_version),
    marker: marker.id,
  };
}

/** A generation's number as metrics name it. */
export function generationLabel({ number }: GenerationMarker): string {
  return `g${number}`;
}

export interface Generation {
  marker: GenerationMarker;
  db: Db;
}

export interface KnownGeneration {
  number: number;
  state: 'live' | OtherState;
  /** Of one that is built: as in its pointer. */
  share: number | null;
  db: Db;
  /** `null` while it is not made yet, or after its database was dropped. */
  marker: GenerationMarker | null;
}

/** Name of the consumer group that projects a generation. */
export function generationGroup(prefix: string, environment: string, number: number): string {
  return `${prefix}.${environment}.g${number}`;
}

/** Every generation of an environment, in the order of their numbers; none where none was made yet. */
export async function findGenerations(databases: Databases, environment: string): Promise<KnownGeneration[]> {
  const pointer = await pointersIn(databases.control).findOne({ _id: environment });
  if (pointer === null) return [];
  const known = [{ number: pointer.live, state: 'live' as const }, ...(pointer.others ?? [])];
  return Promise.all(
    known
      .toSorted((a, b) => a.number - b.number)
      .map(async ({ number, state, ...rest }): Promise<KnownGeneration> => {
        const db = databases.generation(environment, number);
        const marker = await db.collection<GenerationMarker>('generation').findOne({ _id: 'marker' });
        return { number, state, share: 'share' in rest ? (rest.share ?? null) : null, db, marker };
      }),
  );
}

/**
 * The live generation of an environment.
 * @returns `null` where none was made yet.
 * @throws {StoreDataError} `generation_unsuitable` when the pointer leads to a database without its marker.
 */
export async function findLiveGeneration(
  databases: Databases,
  environment: string,
): Promise<Generation | null> {
  return liveOf(environment, await findGenerations(databases, environment));
}

/** The live one among an environment's generations; returns and throws as `findLiveGeneration`. */
export function liveOf(environment: string, generations: readonly KnownGeneration[]): Generation | null {
  const live = generations.find(({ state }) => state === 'live');
  if (live === undefined) return null;
  const { number, db, marker } = live;
  if (marker === null) {
    throw new StoreDataError(
      'generation_unsuitable',
      `generation ${number} of ${environment} has no marker: database ${db.databaseName} was dropped or never filled`,
    );
  }
  return { marker, db };
}

/**
 * The generation from which a release answers: the live one if it made it, else the newest of its own that was live
 * before and is still kept. So an old release's services still answer after a flip to a new release's generation.
 * @returns `null` where there is none.
 */
export function answeringGeneration(
  environment: string,
  generations: readonly KnownGeneration[],
  projectionVersion: number,
): Generation | null {
  const live = liveOf(environment, generations);
  if (live === null || live.marker.projection_version === projectionVersion) return live;
  const kept = generations.findLast(
    ({ state, marker }) => state === 'kept' && marker?.projection_version === projectionVersion,
  );
  return kept === undefined || kept.marker === null ? null : { marker: kept.marker, db: kept.db };
}

/** Makes an environment's first generation if it has none; safe to call from several processes at once. */
export async function createFirstGeneration(
  databases: Databases,
  environment: string,
  projectionVersion: number,
): Promise<void> {
  const pointers = pointersIn(databases.control);
  if ((await pointers.findOne({ _id: environment })) !== null) return;
  await createMarker(databases, environment, 1, projectionVersion);
  await pointers.updateOne({ _id: environment }, { $setOnInsert: { live: 1 } }, { upsert: true });
}

/** Makes a generation's marker unless it has one; from then on projectors of its version fill it. */
export async function createMarker(
  databases: Databases,
  environment: string,
  number: number,
  projectionVersion: number,
): Promise<void> {
  const marker: Omit<GenerationMarker, '_id'> = {
    id: randomUUID(),
    environment,
    number,
    projection_version: projectionVersion,
    created_at: new Date(),
  };
  await databases
    .generation(environment, number)
    .collection<GenerationMarker>('generation')
    .updateOne({ _id: 'marker' }, { $setOnInsert: marker }, { upsert: true });
}
