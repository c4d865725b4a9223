/**
 * Descriptions of records. A field says once how events carry it, how answers show it, and what it
 * means there. `record` makes of them the schema of the event's data, the schemas of the answers,
 * and what the projection shows.
 */
import { Type, type TSchema } from 'typebox';
import { checkedInstant } from '../events/instant.ts';
import {
  CalendarDate,
  ClockTime as ClockTimeInEvents,
  Flag as FlagInEvents,
  Id as IdInEvents,
  ImageUrl,
  Instant,
  listOf as listInEvents,
  Money as MoneyInEvents,
  Name,
  optional,
  Prose,
  Quantity,
  Text as TextInEvents,
  TimezoneOffset as OffsetInEvents,
  Whole as WholeInEvents,
} from '../events/fields.ts';
import { toLocalDateTime } from '../read-models/local-time.ts';
import * as answers from './answer.ts';

/** What an event says of a record. */
export interface Told {
  id: string;
  state: object;
  /** The event's own time, in milliseconds since 1970. */
  time: number;
  /** Of local store time. */
  offset: string;
  /**
   * Whether the customer that the record names was deleted: then their personal data is left out.
   */
  customerErased: boolean;
}

/** From the value in an event, `undefined` if it is absent, to the value in answers. */
type Show = (value: unknown, told: Told) => unknown;

interface Shown {
  readonly answer: answers.Schema;
  readonly show: Show;
  /** As lists show it, if that is less. */
  readonly short?: Pick<Shown, 'answer' | 'show'>;
  /** Its name in events, if that is another one. */
  readonly carriedAs?: string;
  /** Whether it is stored by itself too. */
  readonly isFilter?: true;
}

/** A field of an event's data and of answers. */
export interface Field<E extends TSchema = TSchema> extends Shown {
  readonly event: E;
}

export type Fields = Readonly<Record<string, Field | Shown>>;

/** The properties of the event's data. Fields that only answers have are not among them. */
export type EventProperties<F extends Fields> = {
  [
    N in keyof F as F[N] extends Field
      ? F[N] extends { carriedAs: infer C extends string }
        ? C
        : N
      : never
  ]: F[N] extends Field<infer E> ? E : never;
};

type OrNull<E extends TSchema> = ReturnType<typeof optional<E>>;

/** A type of values. */
export interface Kind<E extends TSchema> extends Field<E> {
  required: (meaning?: string) => Field<E>;
  /** `null` in answers if it is absent; a list is empty. */
  optional: (meaning?: string) => Field<OrNull<E>>;
  /** @param value in answers if it is absent. */
  or: (value: string | number | boolean, meaning?: string) => Field<OrNull<E>>;
}

const asIs: Show = (value) => value;

export function kind<E extends TSchema>(
  event: E,
  answer: answers.Schema,
  show: Show = asIs,
): Kind<E> {
  const meant = (meaning: string | undefined) =>
    meaning === undefined ? answer : answers.described(answer, meaning);
  const unless = (absent: unknown): Show =>
    show === asIs
      ? (value) => value ?? absent
      : (value, told) => (value === null || value === undefined ? absent : show(value, told));
  return {
    event,
    answer,
    show,
    required: (meaning) => ({ event, answer: meant(meaning), show }),
    optional: (meaning) => ({
      event: optional(event),
      answer: answers.nullable(answer, meaning),
      show: unless(null),
    }),
    or: (value, meaning) => ({
      event: optional(event, value),
      answer: meant(meaning),
      show: unless(value),
    }),
  };
}

export const text = kind(TextInEvents, answers.Text);
export const name = kind(Name, answers.Text);
export const prose = kind(Prose, answers.Text);
export const imageUrl = kind(ImageUrl, answers.Text);
export const id = kind(IdInEvents, answers.Id);
export const money = kind(MoneyInEvents, answers.Money);
export const flag = kind(FlagInEvents, answers.Flag);
export const whole = kind(WholeInEvents, answers.Whole);
export const quantity = kind(Quantity, { type: 'integer', format: 'int64', minimum: 1 });
export const coordinate = kind(Type.Number(), { type: 'number' });
export const day = kind(CalendarDate, { type: 'string', format: 'date' });
export const timeOfDay = kind(ClockTimeInEvents, answers.ClockTime);
export const offset = kind(OffsetInEvents, answers.TimezoneOffset);
export const instant = kind(Instant, answers.LocalDateTime, (value, told) =>
  local(value as string, told.offset),
);

/** One of a closed list of words. @param component its name in the OpenAPI document. */
export function oneOf<const W extends readonly string[]>(
  component: string,
  words: W,
  description: string,
) {
  return kind(Type.Enum<W[number][]>([...words]), answers.enumOf(component, words, description));
}

/** @param maxItems in an event. */
export function listOf<E extends TSchema>(entry: Field<E>, maxItems: number) {
  const event = listInEvents(entry.event, maxItems);
  const answer = (meaning?: string) => answers.arrayOf(entry.answer, meaning);
  const show: Show =
    entry.show === asIs
      ? (value) => value ?? []
      : (value, told) => ((value ?? []) as unknown[]).map((one) => entry.show(one, told));
  return {
    required: (meaning?: string) => ({ event, answer: answer(meaning), show }),
    optional: (meaning?: string) => ({ event: optional(event), answer: answer(meaning), show }),
  };
}

/** An object within a record. @param title under which documents describe it apart. */
export function partOf<F extends Fields>(
  component: string,
  description: string,
  fields: F,
  title?: string,
) {
  const options = title === undefined ? {} : { title };
  const event = Type.Object(eventProperties(fields), options);
  const show = shower(fields);
  return kind(event, answers.part(component, description, answersOf(fields)), (value, told) =>
    show(told, value as object),
  );
}

/** `null` once the customer that the record names was deleted. */
export function personal<E extends TSchema>(field: Field<E>): Field<E> {
  return {
    ...field,
    show: (value, told) => (told.customerErased ? null : field.show(value, told)),
  };
}

/** A field that events carry under another name than answers show it. */
export function carriedAs<C extends string, E extends TSchema>(carried: C, field: Field<E>) {
  return { ...field, carriedAs: carried };
}

/** A field by which lists are filtered: it is stored by itself too. */
export function filtered<F extends Field>(field: F) {
  return { ...field, isFilter: true } as const;
}

/** What only answers have. */
export function computed(answer: answers.Schema, show: (told: Told) => unknown): Shown {
  return { answer, show: (_, told) => show(told) };
}

/** When the record changed last, else the event's own time (rule R12.4). */
export function updatedAt(meaning?: string): Field<OrNull<typeof Instant>> {
  const { event, answer } = instant.required(meaning);
  const show: Show = (value, { time, offset: of }) =>
    typeof value === 'string' ? local(value, of) : toLocalDateTime(time, of);
  return { event: optional(event), answer, show };
}

function local(value: string, of: string): string {
  return toLocalDateTime(checkedInstant(value), of);
}

/** The schemas of the fields that events carry, by their names there. */
export function eventProperties<F extends Fields>(fields: F): EventProperties<F> {
  const properties = Object.entries(fields).flatMap(([field, one]): [string, TSchema][] =>
    'event' in one ? [[carriedName(field, one), one.event]] : [],
  );
  return Object.fromEntries(properties) as EventProperties<F>;
}

const carriedName = (field: string, one: Shown) => one.carriedAs ?? field;

export function answersOf(fields: Fields, isShort = false): answers.Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([field, one]) => [
      field,
      ((isShort ? one.short : undefined) ?? one).answer,
    ]),
  );
}

/** Makes what shows fields of an event's state, or of a part of it. */
export function shower(
  fields: Fields,
  isShort = false,
): (told: Told, part?: object) => Record<string, unknown> {
  const all = Object.entries(fields).map(([field, one]) => {
    const { show } = (isShort ? one.short : undefined) ?? one;
    return { field, carried: carriedName(field, one), show };
  });
  return (told, part = told.state) => {
    const shown: Record<string, unknown> = {};
    for (const { field, carried, show } of all)
      shown[field] = show((part as Record<string, unknown>)[carried], told);
    return shown;
  };
}
