/**
 * How the schemas of event data evolve: steps turn data of an older version into data of the newest, and everything behind
 * them knows the newest alone (docs/evolve-an-event.md).
 */
import type { EntityName } from './entities/index.ts';

/** Data as it came: an object of which nothing is checked yet. */
type Data = Readonly<Record<string, unknown>>;

/** From one version to the next. Pure, and it throws for nothing: what is wrong stays wrong, and the schema says so. */
type Step = (data: Data) => Data;

/** Steps from version 1 to 2, from 2 to 3 and so on. An entity without any has version 1 alone. */
export type Steps = { readonly [E in EntityName]?: readonly Step[] };

/** The steps of this release: every schema is still what version 1 was. */
export const STEPS: Steps = {};

/** The newest known version of an entity's schema. */
export function newestVersion(entity: EntityName, steps: Steps): number {
  return 1 + (steps[entity]?.length ?? 0);
}

/**
 * Data of any version as data of the newest; a version that is newer still is read as the newest.
 * @param version as the event's `dataschema` names it, from 1.
 */
export function upcast(entity: EntityName, data: unknown, version: number, steps: Steps): unknown {
  const ahead = steps[entity]?.slice(version - 1) ?? [];
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return data;
  return ahead.reduce((older, step) => step(older), data as Data);
}
