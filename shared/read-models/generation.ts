/**
 * Generations: one complete set of an environment's read models, in a database of its own, with a
 * marker that a dropped database lacks. A pointer in the control database says which is live. It is
 * one document, so that a flip is one write; every change is a compare-and-set of its revision.
 */
import { randomUUID } from 'node:crypto';
import type { Db, MongoClient, Collection } from 'mongodb';
import { commandInvalid, notFound, StoreDataError } from '../errors.ts';
import { STAMPS } from './collections.ts';
import project from '../../package.json' with { type: 'json' };

/**
 * Knows which MongoDB holds which database: the common one, or an environment's own for its
 * generations.
 */
export class Databases {
  readonly control: Db;
  readonly client: MongoClient;
  readonly #prefix: string;

  constructor(prefix: string, client: MongoClient) {
    this.#prefix = prefix;
    this.client = client;
    this.control = controlDatabase(client, prefix);
  }

  generation(environment: string, number: number): Db {
    return this.client.db(`${this.#prefix}_${environment}_g${number}`);
  }
}

export function controlDatabase(client: MongoClient, prefix: string): Db {
  return client.db(`${prefix}_control`);
}

/**
 * Raise it with every change of a response, a read model or an index; this release leaves
 * generations of other versions alone.
 */
export const PROJECTION_VERSION = 7;
/** Of what it makes of examples, in a unit test: another one needs another version. */
export const PROJECTION_HASH = '925f97afe583c173';

/** Says that another release made a generation; `null` if this one did. */
export function describeOtherRelease({
  environment,
  number,
  projection_version: version,
}: GenerationMarker): string | null {
  if (version === PROJECTION_VERSION) return null;
  return `generation ${number} of ${environment} has projection version ${version}, this release has ${PROJECTION_VERSION}`;
}

export interface GenerationMarker {
  _id: 'marker';
  /** Unique for ever, so that an ETag of a recreated database never matches. */
  id: string;
  environment: string;
  number: number;
  projection_version: number;
  created_at: Date;
}

/**
 * The labels of a generation in the metrics of both services, so that an alert can compare them.
 */
export const GENERATION_LABELS = [
  'environment',
  'generation',
  'projection_version',
  'marker',
] as const;

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

export function generationLabel({ number }: GenerationMarker): string {
  return `g${number}`;
}

const MARKER = { _id: 'marker' } as const;
const markersIn = (db: Db): Collection<GenerationMarker> => db.collection('generation');

export interface Generation {
  marker: GenerationMarker;
  db: Db;
}

/**
 * The percentage of a projector's time that filling a generation takes, unless the command set
 * another.
 */
export const DEFAULT_SHARE = 25;

export interface KnownGeneration {
  number: number;
  state: 'live' | OtherState;
  share: number | null;
  db: Db;
  /** `null` before it is created, or after its database was dropped. */
  marker: GenerationMarker | null;
}

export function generationGroup(prefix: string, environment: string, number: number): string {
  return `${prefix}.${environment}.g${number}`;
}

/**
 * Whether its database still is the generation: a dropped one reads as an empty one. A marker's id
 * is unique, so that all that was read before was read from the generation too.
 */
export async function hasMarker({ db, marker }: Generation): Promise<boolean> {
  const found = await markersIn(db).findOne(MARKER, { maxTimeMS: 5_000 });
  return found?.id === marker.id;
}

/**
 * Drops the database of a generation. MongoDB drops its collections one after the other: the marker
 * and the stamps are removed first, so that no read takes what is left for the whole.
 */
export async function dropDatabaseOf({ db }: Pick<Generation, 'db'>): Promise<void> {
  for (const name of ['generation', STAMPS]) await db.collection(name).deleteMany({});
  await db.dropDatabase();
}

/** All generations of an environment, by number. */
export async function findGenerations(
  databases: Databases,
  environment: string,
): Promise<KnownGeneration[]> {
  const pointer = await pointersIn(databases.control).findOne({ _id: environment });
  if (pointer === null) return [];
  const live = { number: pointer.live, state: 'live' as const, share: null };
  return Promise.all(
    [live, ...others(pointer)]
      .toSorted((a, b) => a.number - b.number)
      .map(async ({ number, state, share = null }) => {
        const db = databases.generation(environment, number);
        return { number, state, share, db, marker: await markersIn(db).findOne(MARKER) };
      }),
  );
}

/**
 * @throws {StoreDataError} `generation_unsuitable` when the pointer leads to a database without its
 * marker.
 */
export async function findLiveGeneration(
  databases: Databases,
  environment: string,
): Promise<Generation | null> {
  return liveOf(environment, await findGenerations(databases, environment));
}

/** The live one among an environment's generations; returns and throws as `findLiveGeneration`. */
export function liveOf(
  environment: string,
  generations: readonly KnownGeneration[],
): Generation | null {
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
 * The live generation, or the newest kept one of this release: it still answers after a flip to a
 * new release's.
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

/**
 * Makes an environment's first generation if it has none; safe to call from several processes at
 * once.
 */
export async function createFirstGeneration(
  databases: Databases,
  environment: string,
  projectionVersion: number,
) {
  const pointers = pointersIn(databases.control);
  if ((await pointers.findOne({ _id: environment })) !== null) return;
  await createMarker(databases, environment, 1, projectionVersion);
  await pointers.updateOne({ _id: environment }, { $setOnInsert: { live: 1 } }, { upsert: true });
}

/**
 * Creates a generation's marker unless it has one. From then on projectors of its version fill it.
 */
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
  const markers = markersIn(databases.generation(environment, number));
  await markers.updateOne(MARKER, { $setOnInsert: marker }, { upsert: true });
}

/**
 * `building`: filled beside the live one, never answered yet · `kept`: was live, still projected,
 * so that a rollback loses nothing · `dropping`: no process may use it, and its database is
 * removed.
 */
type OtherState = 'building' | 'kept' | 'dropping';

interface OtherGeneration {
  number: number;
  state: OtherState;
  share?: number;
}

export interface GenerationPointer {
  _id: string;
  live: number;
  /** The one that was live before, to which a rollback leads. */
  previous?: number;
  /** The highest number ever given: none is given twice. */
  last?: number;
  others?: OtherGeneration[];
  revision?: number;
}

const ATTEMPTS = 20;

export function pointersIn(control: Db): Collection<GenerationPointer> {
  return control.collection('generations');
}

/**
 * @throws {StoreDataError} `not_found` when the environment has no generation; and what `change`
 * throws.
 */
export async function changePointer(
  control: Db,
  environment: string,
  change: (pointer: GenerationPointer) => GenerationPointer,
): Promise<GenerationPointer> {
  const pointers = pointersIn(control);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = await pointers.findOne({ _id: environment });
    if (before === null) throw notFound(`${environment} has no generation yet`);
    const { _id, ...after } = { ...change(before), revision: (before.revision ?? 0) + 1 };
    const revision = before.revision ?? { $exists: false };
    const { modifiedCount } = await pointers.replaceOne({ _id, revision }, after);
    if (modifiedCount === 1) return { _id, ...after };
  }
  throw commandInvalid(`others change the generations of ${environment}: try again`);
}

export function withNew(pointer: GenerationPointer, share: number): GenerationPointer {
  const number = Math.max(pointer.last ?? 0, pointer.live) + 1;
  return {
    ...pointer,
    last: number,
    others: [...others(pointer), { number, state: 'building', share }],
  };
}

export function withShare(
  pointer: GenerationPointer,
  number: number,
  share: number,
): GenerationPointer {
  return withOther(pointer, number, (other) => ({ ...other, share }));
}

/**
 * The previous one is kept.
 * @throws {StoreDataError} `command_invalid` unless it exists and is not being dropped.
 */
export function withLive(pointer: GenerationPointer, number: number): GenerationPointer {
  const found = others(pointer).find((other) => other.number === number);
  if (found === undefined || found.state === 'dropping') {
    throw commandInvalid(`generation ${number} of ${pointer._id} cannot become live`);
  }
  const { live: previous } = pointer;
  const kept = { number: previous, state: 'kept' } as const;
  return {
    ...pointer,
    live: number,
    previous,
    others: [...others(without(pointer, number)), kept],
  };
}

/**
 * @throws {StoreDataError} `command_invalid` for the live one, `not_found` if no generation has
 * this number.
 */
export function withDropping(pointer: GenerationPointer, number: number): GenerationPointer {
  if (pointer.live === number) {
    throw commandInvalid(`generation ${number} of ${pointer._id} is live and cannot be dropped`);
  }
  if (!others(pointer).some((other) => other.number === number)) {
    throw notFound(`${pointer._id} has no generation ${number}`);
  }
  const { previous, ...rest } = withOther(pointer, number, () => ({ number, state: 'dropping' }));
  return previous === undefined || previous === number ? rest : { ...rest, previous };
}

export function without(pointer: GenerationPointer, number: number): GenerationPointer {
  return withOther(pointer, number, () => []);
}

function withOther(
  pointer: GenerationPointer,
  number: number,
  change: (other: OtherGeneration) => OtherGeneration | [],
): GenerationPointer {
  return {
    ...pointer,
    others: others(pointer).flatMap((one) => (one.number === number ? change(one) : one)),
  };
}

function others(pointer: GenerationPointer): OtherGeneration[] {
  return pointer.others ?? [];
}

export const RELEASE = {
  version: project.version,
  /** Of the documents that the projector writes: another one needs a rebuild. */
  projectionVersion: PROJECTION_VERSION,
  node: process.versions.node,
};
