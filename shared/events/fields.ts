/**
 * The field types of event data (rules R12.1 and R12.2). Titles and defaults are for documents
 * only: they fill in nothing.
 */
import { Type, type TSchema } from 'typebox';
import { Format } from 'typebox/format';
import { isCalendarDate, parseInstant } from './instant.ts';

/** In Unicode code points (rules R12.5 to R12.8). An event beyond a bound is poison. */
export const TEXT_BOUNDS = {
  /** `name`, `legal_name` and `customer_name`, wherever they stand. */
  name: 200,
  /**
   * `description`, `message`, `audience`, `comment`, `reply`, `notes`, `reason` and `reference`,
   * wherever they stand.
   */
  prose: 5_000,
  image_url: 2_000,
  other: 255,
} as const;

Format.Set('text', (value) => !value.includes('\0') && value.isWellFormed());
Format.Set('instant', (value) => parseInstant(value) !== null);
Format.Set('calendar-date', isCalendarDate);

export const ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}

/** A string without NUL and lone surrogates. Lengths count code points. */
function textOf(maxLength: number) {
  return Type.String({ title: 'text', format: 'text', maxLength });
}

export const Name = textOf(TEXT_BOUNDS.name);
export const Prose = textOf(TEXT_BOUNDS.prose);
export const ImageUrl = textOf(TEXT_BOUNDS.image_url);
export const Text = textOf(TEXT_BOUNDS.other);
export const Id = Type.String({ title: 'id', pattern: ID_PATTERN.source });
export const Money = Type.String({ title: 'money', pattern: '^[0-9]{1,12}\\.[0-9]{2}$' });
/** RFC 3339 with a zone. A fraction may have any number of digits within the bound of texts. */
export const Instant = Type.String({
  title: 'date-time',
  format: 'instant',
  maxLength: TEXT_BOUNDS.other,
});
export const CalendarDate = Type.String({ title: 'date', format: 'calendar-date' });
export const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
export const Quantity = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const Flag = Type.Boolean();
export const TimezoneOffset = Type.String({
  title: 'offset',
  pattern: '^[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]$',
});
/** `HH:MM`; a store may close at `24:00`. */
export const ClockTime = Type.String({
  title: 'time of day',
  pattern: '^(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00)$',
});

export function listOf<T extends TSchema>(entry: T, maxItems: number) {
  return Type.Array(entry, { maxItems });
}

/**
 * An optional field; `null` equals absent.
 * @param shown the value in answers then, unless that is `null`.
 */
export function optional<T extends TSchema>(schema: T, shown?: string | number | boolean) {
  return Type.Optional(
    Type.Union([schema, Type.Null()], shown === undefined ? {} : { default: shown }),
  );
}

/** The schema of a field that is there: the unions of event data are "this or null". */
export function withoutNull(schema: TSchema): TSchema {
  return Type.IsUnion(schema) ? (schema.anyOf[0] ?? schema) : schema;
}

/**
 * The value without fields that its schema does not name, at any depth. A value of another shape
 * stays as it is.
 */
export function knownFields(either: TSchema, value: unknown): unknown {
  const schema = withoutNull(either);
  if (typeof value !== 'object' || value === null) return value;
  if (Type.IsArray(schema)) {
    return Array.isArray(value) ? value.map((entry) => knownFields(schema.items, entry)) : value;
  }
  if (!Type.IsObject(schema)) return value;
  const known: Record<string, unknown> = {};
  for (const [field, fieldSchema] of Object.entries(schema.properties)) {
    if (Object.hasOwn(value, field))
      known[field] = knownFields(fieldSchema, (value as typeof known)[field]);
  }
  return known;
}

interface UnknownField {
  path: string;
  name: string;
  known: string[];
}

/** The fields of a value that its schema does not name, at any depth. */
export function* unknownFields(
  either: TSchema,
  value: unknown,
  path: string,
): Generator<UnknownField> {
  if (typeof value !== 'object' || value === null) return;
  const schema = withoutNull(either);
  if (Type.IsArray(schema) && Array.isArray(value)) {
    for (const [at, entry] of value.entries())
      yield* unknownFields(schema.items, entry, `${path}[${at}]`);
  } else if (Type.IsObject(schema)) {
    const known = new Map(Object.entries(schema.properties));
    for (const [name, field] of Object.entries(value)) {
      const fieldSchema = known.get(name);
      if (fieldSchema === undefined) yield { path, name, known: [...known.keys()] };
      else yield* unknownFields(fieldSchema, field, `${path}.${name}`);
    }
  }
}
