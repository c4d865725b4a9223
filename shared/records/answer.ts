/**
 * The field types of answers (rules R7.5, R7.6, R9.2), as JSON Schemas. A component of the OpenAPI
 * document is a reference that brings along what it stands for.
 */
import type { TSchema } from 'typebox';
import {
  ClockTime as ClockTimeInEvents,
  ID_PATTERN,
  Money as MoneyInEvents,
  TimezoneOffset as OffsetInEvents,
} from '../events/fields.ts';

/** Where a reference has its component; JSON leaves symbols out. */
export const COMPONENT = Symbol('component');

export interface Schema {
  readonly [keyword: string]: unknown;
  readonly [COMPONENT]?: Component;
}

export interface Component {
  name: string;
  schema: Schema & { description: string };
  /** Of a record. */
  example?: { id?: string } | undefined;
}

/** A schema that is written once, and referred to by its name. */
export type Reference = Schema & { readonly [COMPONENT]: Component };

export function component(
  name: string,
  schema: Component['schema'],
  example?: Component['example'],
): Reference {
  return { $ref: `#/components/schemas/${name}`, [COMPONENT]: { name, schema, example } };
}

export const Text: Schema = { type: 'string' };
export const Flag: Schema = { type: 'boolean' };
/**
 * A whole number from 0. Sums may be larger than what events can carry. Generated clients read 32
 * bits unless told otherwise.
 */
export const Whole: Schema = { type: 'integer', format: 'int64', minimum: 0 };

export const Id = component('Id', {
  type: 'string',
  description:
    'An identifier: opaque, unique among the records of its kind in one store and environment.',
  pattern: ID_PATTERN.source,
});

export const Money = component('Money', {
  ...patternOf(MoneyInEvents),
  description:
    'An amount in BRL as a string with exactly two decimals, so that nothing is lost to binary fractions: read it as ' +
    'a decimal, not as a floating-point number.',
});

// `YYYY-MM-DDTHH:MM:SS` on the calendar: JSON Schema has no format for a date-time without a zone
// that validators check.
const LONG_MONTHS = '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])';
const SHORT_MONTHS = '(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)';
const FEBRUARY = '02-(?:0[1-9]|1[0-9]|2[0-8])';
const LEAP_YEAR = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DATE = `(?:[0-9]{4}-(?:${LONG_MONTHS}|${SHORT_MONTHS}|${FEBRUARY})|${LEAP_YEAR}-02-29)`;

const LOCAL_DATE_TIME = `^${DATE}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$`;

/**
 * A bound in a request. Without a format: generated clients would send their own type of it, with
 * other digits than ours.
 */
export const LocalDateTimeBound: Schema = { type: 'string', pattern: LOCAL_DATE_TIME };

export const LocalDateTime = component('LocalDateTime', {
  type: 'string',
  description:
    'A date-time in local store time, without a zone. To get the instant, append the `timezone_offset` of `GET ' +
    '/api/store/info/`: `2026-11-20T18:15:04` in a store at `-03:00` is `2026-11-20T18:15:04-03:00`. Fractions of a ' +
    'second are cut. The same offset holds for every date-time of the store, whatever the season.',
  format: 'date-time-local',
  pattern: LOCAL_DATE_TIME,
});

export const TimezoneOffset = component('TimezoneOffset', {
  ...patternOf(OffsetInEvents),
  description: 'The distance of local store time from UTC.',
});

/** `HH:MM`. */
export const ClockTime = patternOf(ClockTimeInEvents);

/** One of a closed list of words, as a component. */
export function enumOf(name: string, words: readonly string[], description: string): Reference {
  return component(name, { enum: words, type: 'string', description });
}

/** A type with what it means in this place. */
export function described(type: Schema, description: string): Schema {
  return { ...type, description };
}

/** A field that is `null` if it is absent; answers never leave one out. */
export function nullable(type: Schema, description?: string): Schema {
  const either =
    typeof type['type'] === 'string'
      ? { ...type, type: [type['type'], 'null'] }
      : { anyOf: [type, { type: 'null' }] };
  return description === undefined ? either : { ...either, description };
}

export function arrayOf(items: Schema, description?: string): Schema {
  return { type: 'array', items, ...(description !== undefined && { description }) };
}

export type Fields = Readonly<Record<string, Schema>>;

/**
 * An object with these fields, and in later releases with others: generated clients have to accept
 * them. Some close an object that says nothing about it. Tests compare answers with a closed copy.
 */
export function part(name: string, description: string, fields: Fields): Reference {
  return component(name, { ...objectOf(fields), description, additionalProperties: true });
}

export function objectOf(properties: Fields): Schema {
  const required = Object.keys(properties);
  return { type: 'object', ...(required.length > 0 && { required }), properties };
}

/**
 * The same with an example, which may have more fields: one serves a record's summary and the whole
 * of it.
 */
export function record(
  name: string,
  description: string,
  fields: Fields,
  example: Readonly<Record<string, unknown>>,
): Reference {
  const shown = Object.fromEntries(Object.keys(fields).map((field) => [field, example[field]]));
  const { schema } = part(name, description, fields)[COMPONENT];
  return component(name, { ...schema, examples: [shown] }, shown);
}

/** The pattern of a type that events share with answers. */
function patternOf(type: TSchema & { pattern?: string }): Schema {
  return { type: 'string', pattern: type.pattern };
}
