/**
 * The state of each entity with every field that its events may carry: any text is `TEXT`, each list
 * has one entry.
 */
import { Type, type TSchema } from 'typebox';
import { ENTITY_NAMES, type EntityStates, entitySchemas } from '#shared/events/entities.ts';

export const TEXT = 'text';

/** Values of strings, by the titles of their types. */
const STRINGS: Readonly<Record<string, string>> = {
  text: TEXT,
  id: 'c1',
  money: '1.00',
  'date-time': '2026-11-20T21:15:04.120Z',
  date: '1990-01-31',
  offset: '-03:00',
  'time of day': '08:00',
};

export interface Described extends TSchema {
  title?: string;
  minimum?: number;
  maximum?: number;
  const?: unknown;
  enum?: unknown[];
}

/** A value of the schema. */
export function valueOf(schema: TSchema): unknown {
  const { title = '', const: only, enum: [word = only] = [] } = schema as Described;
  if (word !== undefined) return word;
  if (Type.IsUnion(schema)) return valueOf(schema.anyOf[0] ?? Type.Null());
  if (Type.IsArray(schema)) return [valueOf(schema.items)];
  if (Type.IsObject(schema)) {
    const fields = Object.entries(schema.properties);
    return Object.fromEntries(fields.map(([field, one]) => [field, valueOf(one)]));
  }
  if (Type.IsBoolean(schema)) return true;
  return Type.IsString(schema) ? STRINGS[title] : 1;
}

export const COMPLETE_STATES = Object.fromEntries(
  ENTITY_NAMES.map((entity) => [entity, valueOf(entitySchemas[entity])]),
) as EntityStates;
