/**
 * A change of one entity, checked. Data of an older schema becomes data of the newest first
 * (docs/changing-records.md).
 */
import { type CloudEvent, type EventMessage, readCloudEvent } from './cloud-event.ts';
import { type EntityName, type EntityStates, entitySchemas } from './entities.ts';
import { isId } from './fields.ts';
import { EventRejected, invalidAttribute, schemaChecks } from './rejection.ts';

interface ChangeOf<E extends EntityName> {
  entity: E;
  storeId: string;
  id: string;
  sequence: number;
  time: number;
  eventId: string;
  /** The whole state, in the newest version of its schema; `null` for a deletion. */
  state: EntityStates[E] | null;
  /** The version of its schema, if newer than this release knows: fields may be lost. */
  newerVersion?: number;
}

export type Change = { [E in EntityName]: ChangeOf<E> }[EntityName];
export type ChangeTo<E extends EntityName> = Extract<Change, { entity: E }>;

const checks = schemaChecks(entitySchemas);

/**
 * @param steps how schemas evolved; a test may act as another release.
 * @throws {EventRejected} for poison.
 */
export function readChange(message: EventMessage, steps = STEPS): Change {
  const event = readCloudEvent(message);
  const {
    entity,
    action,
    subject: id,
    storeId,
    sequence,
    time,
    id: eventId,
    schemaVersion,
  } = event;
  if (!isEntityName(entity)) {
    throw new EventRejected(
      'unknown_type',
      `there is no entity of that name; known: ${Object.keys(entitySchemas).join(', ')}`,
    );
  }
  if (!isId(id)) {
    throw invalidAttribute('subject is not 1 to 64 of A-Z a-z 0-9 _ -');
  }
  if (entity === 'store' && id !== storeId) {
    throw invalidAttribute('subject of a store is not the storeid');
  }
  const isNewer = action === 'changed' && schemaVersion > newestVersion(entity, steps);
  const state = action === 'deleted' ? null : readState(entity, event, steps);
  return {
    entity,
    storeId,
    id,
    sequence,
    time,
    eventId,
    state,
    ...(isNewer && { newerVersion: schemaVersion }),
  } as Change;
}

/**
 * The checked state. If a newer version changed a required field, the event is poison until a
 * release knows that version.
 */
function readState(
  entity: EntityName,
  { data, schemaVersion }: CloudEvent,
  steps: Steps,
): EntityStates[EntityName] {
  const newest = newestVersion(entity, steps);
  try {
    return checks[entity](upcast(entity, data, schemaVersion, steps));
  } catch (error) {
    if (!(error instanceof EventRejected) || schemaVersion <= newest) throw error;
    throw new EventRejected(
      'unknown_schema_version',
      `dataschema is version ${schemaVersion} and cannot be read as ${newest}, the newest known: ${error.detail}`,
      { cause: error },
    );
  }
}

function isEntityName(name: string): name is EntityName {
  return Object.hasOwn(entitySchemas, name);
}

type Data = Readonly<Record<string, unknown>>;

/**
 * From one version to the next. Pure, and it never throws: wrong data stays wrong, and the schema
 * rejects it.
 */
type Step = (data: Data) => Data;

/** Steps from version 1 to 2, from 2 to 3 and so on. An entity without any has version 1 alone. */
export type Steps = { readonly [E in EntityName]?: readonly Step[] };

/** The steps of this release: every schema is still what version 1 was. */
export const STEPS: Steps = {};

function newestVersion(entity: EntityName, steps: Steps): number {
  return 1 + (steps[entity]?.length ?? 0);
}

/**
 * Data of any version as data of the newest; a version that is newer still is read as the newest.
 */
function upcast(entity: EntityName, data: unknown, version: number, steps: Steps): unknown {
  const ahead = steps[entity]?.slice(version - 1) ?? [];
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return data;
  return ahead.reduce((older, step) => step(older), data as Data);
}
