/**
 * How the schemas of event data have evolved: what an event of an older version holds becomes what one of the newest
 * would. The only place that knows older versions; everything behind it knows the newest alone (docs/evolve-an-event.md).
 */
import type { EntityName } from './entities/index.ts';

/** Data as it came: an object of which nothing is checked yet. */
type Data = Readonly<Record<string, unknown>>;

/** From one version to the next. */
interface Step {
  /** Pure, and it throws for nothing: what is wrong stays wrong, and the schema says so. */
  upcast: (data: Data) => Data;
  /** What the older version calls a field of the newer one. */
  olderName: (field: string) => string;
}

/** Steps from version 1 to 2, from 2 to 3 and so on. An entity without any has version 1 alone. */
const STEPS: { readonly [E in EntityName]?: readonly Step[] } = {
  campaign: [renamed('audience', 'segment')],
};

/** A field's new name. What the older version had under that name was an unknown field. */
function renamed(from: string, to: string): Step {
  return {
    upcast(data) {
      const { [from]: value, [to]: _unknown, ...rest } = data;
      return value === undefined ? rest : { ...rest, [to]: value };
    },
    olderName: (field) => (field === to ? from : field),
  };
}

/** The newest version of an entity's schema that this release knows. */
export function newestVersion(entity: EntityName): number {
  return 1 + (STEPS[entity]?.length ?? 0);
}

/**
 * Data of any version as data of the newest; a version that is newer still is read as the newest.
 * @param version as the event's `dataschema` names it, from 1.
 */
export function upcast(entity: EntityName, data: unknown, version: number): unknown {
  const steps = stepsFrom(entity, version);
  if (steps.length === 0 || typeof data !== 'object' || data === null || Array.isArray(data)) return data;
  let newest = data as Data;
  for (const step of steps) newest = step.upcast(newest);
  return newest;
}

/** What a version calls a field of the newest, so that whoever sent the event is told of a field that they know. */
export function nameIn(entity: EntityName, field: string, version: number): string {
  return stepsFrom(entity, version).reduceRight((name, step) => step.olderName(name), field);
}

function stepsFrom(entity: EntityName, version: number): readonly Step[] {
  return STEPS[entity]?.slice(version - 1) ?? [];
}
