/**
 * The field types of answers (rules R7.5, R7.6, R9.2). A schema with a title is a component of the OpenAPI
 * document, referred to by that name; one without is written where it stands.
 */
import { type TProperties, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  ClockTime as ClockTimeInEvents,
  ID_PATTERN,
  Money as MoneyInEvents,
  TimezoneOffset as OffsetInEvents,
} from '#shared/events/fields.ts';

export const Text = Type.String();
export const Flag = Type.Boolean();
/** A whole number from 0. Sums may be larger than what events can carry. */
export const Whole = Type.Integer({ minimum: 0 });

export const Id = Type.String({
  title: 'Id',
  description: 'An identifier: opaque, unique among the records of its kind in one store and environment.',
  pattern: ID_PATTERN.source,
});

export const Money = Type.String({
  ...pattern(MoneyInEvents),
  title: 'Money',
  description:
    'An amount in BRL as a string with exactly two decimals, so that nothing is lost to binary fractions: read it as a decimal, not as a floating-point number.',
});

// `YYYY-MM-DDTHH:MM:SS` on the calendar: JSON Schema has no format for a date-time without a zone that validators check.
const LONG_MONTHS = '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])';
const SHORT_MONTHS = '(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)';
const FEBRUARY = '02-(?:0[1-9]|1[0-9]|2[0-8])';
const LEAP_YEAR = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DATE = `(?:[0-9]{4}-(?:${LONG_MONTHS}|${SHORT_MONTHS}|${FEBRUARY})|${LEAP_YEAR}-02-29)`;

const LOCAL_DATE_TIME = `^${DATE}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$`;

export const LocalDateTime = Type.String({
  title: 'LocalDateTime',
  description:
    'A date-time in local store time, without a zone. To get the instant, append the `timezone_offset` of `GET /api/store/info/`: `2026-11-20T18:15:04` in a store at `-03:00` is `2026-11-20T18:15:04-03:00`. Fractions of a second are cut. The same offset holds for every date-time of the store, whatever the season.',
  format: 'date-time-local',
  pattern: LOCAL_DATE_TIME,
});

export const TimezoneOffset = Type.String({
  ...pattern(OffsetInEvents),
  title: 'TimezoneOffset',
  description: 'The distance of local store time from UTC.',
});

/** `HH:MM`. */
export const ClockTime = Type.String(pattern(ClockTimeInEvents));

/** One of a closed list of words, as a component. */
export function enumOf<const T extends string>(title: string, list: readonly T[], description: string) {
  return Type.Enum([...list], { type: 'string', title, description });
}

/** A type with what it means in this place. */
export function described(type: TSchema, description: string): TSchema {
  return Type.Union([type], { description });
}

/** A field that is `null` where it is absent; answers never leave one out. */
export function nullable(type: TSchema, description?: string): TSchema {
  return Type.Union([type, Type.Null()], description === undefined ? {} : { description });
}

/**
 * An object with exactly these fields: what else an answer held would be a mistake of ours.
 * @param example may have more than these: one example serves a record's summary and the whole of it.
 */
export function record(
  title: string,
  description: string,
  fields: TProperties,
  example: object,
): TSchema & {
  properties: TProperties;
} {
  const options = { title, description, additionalProperties: false };
  const shown = Value.Clean(Type.Object(fields, options), Value.Clone(example));
  return Type.Object(fields, { ...options, examples: [shown] });
}

/** An object inside a record. */
export function part(title: string, description: string, fields: TProperties): TSchema {
  return Type.Object(fields, { title, description, additionalProperties: false });
}

/** Of stores, customers and deliveries (rule R9.15). */
export const Address = part(
  'Address',
  'A postal address in Brazil; each field is `null` where it is not known.',
  {
    street: nullable(Text),
    number: nullable(Text),
    complement: nullable(Text),
    district: nullable(Text, 'The neighbourhood (bairro).'),
    city: nullable(Text),
    state: nullable(Text, 'As the store writes it, usually the two letters of the state.'),
    postal_code: nullable(Text, 'The CEP, as the store writes it.'),
    reference: nullable(Text, 'A landmark for the courier.'),
    latitude: nullable(Type.Number()),
    longitude: nullable(Type.Number()),
  },
);

/** The pattern of a type that events share with answers. */
function pattern(type: TSchema): { pattern: string } {
  if (!('pattern' in type) || typeof type.pattern !== 'string')
    throw new TypeError('the type has no pattern');
  return { pattern: type.pattern };
}
