/**
 * The field types of event data (rule R12.1), from which entity schemas are made. Titles and defaults are for documents alone: nothing
 * is checked or filled in by them.
 */
import { Type, type TSchema } from 'typebox';
import { Format } from 'typebox/format';
import { TEXT_BOUNDS } from './bounds.ts';
import { isCalendarDate, parseInstant } from './instant.ts';

Format.Set('text', (value) => !value.includes('\0') && value.isWellFormed());
Format.Set('instant', (value) => parseInstant(value) !== null);
Format.Set('calendar-date', isCalendarDate);

/** The shape of every id: 1 to 64 of `A-Z a-z 0-9 _ -`. */
export const ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether a text has the shape of an id. */
export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}

/** A string without NUL and lone surrogates. Lengths count code points. */
function textOf(maxLength: number) {
  return Type.String({ title: 'text', format: 'text', maxLength });
}

export const Name = textOf(TEXT_BOUNDS.name);
/** What people write at length. */
export const Prose = textOf(TEXT_BOUNDS.prose);
export const ImageUrl = textOf(TEXT_BOUNDS.image_url);
/** Every other text. */
export const Text = textOf(TEXT_BOUNDS.other);
export const Id = Type.String({ title: 'id', pattern: ID_PATTERN.source });
/** Decimals in BRL as a string with two decimal places. */
export const Money = Type.String({ title: 'money', pattern: '^[0-9]{1,12}\\.[0-9]{2}$' });
/** RFC 3339 with a zone. A fraction has as many digits as it likes, but the text is one like others. */
export const Instant = Type.String({ title: 'date-time', format: 'instant', maxLength: TEXT_BOUNDS.other });
export const CalendarDate = Type.String({ title: 'date', format: 'calendar-date' });
/** A whole number from 0 to 2^53−1. */
export const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** A whole number from 1 to 2^53−1. */
export const Quantity = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const Flag = Type.Boolean();
export const Coordinate = Type.Number();
/** The distance of local time from UTC, such as `-03:00`. */
export const TimezoneOffset = Type.String({
  title: 'offset',
  pattern: '^[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]$',
});
/** `HH:MM`; a store may close at `24:00`. */
export const ClockTime = Type.String({
  title: 'time of day',
  pattern: '^(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00)$',
});

/** A list with a bound. */
export function listOf<T extends TSchema>(entry: T, maxItems: number) {
  return Type.Array(entry, { maxItems });
}

/** A field that may be left out; `null` equals absent. @param shown what answers show then, where that is not `null`. */
export function absent<T extends TSchema>(schema: T, shown?: string | number | boolean) {
  return Type.Optional(Type.Union([schema, Type.Null()], shown === undefined ? {} : { default: shown }));
}

export const Address = Type.Object(
  {
    street: absent(Text),
    number: absent(Text),
    complement: absent(Text),
    district: absent(Text),
    city: absent(Text),
    state: absent(Text),
    postal_code: absent(Text),
    reference: absent(Prose),
    latitude: absent(Coordinate),
    longitude: absent(Coordinate),
  },
  { title: 'address' },
);
export type AddressState = Type.Static<typeof Address>;
