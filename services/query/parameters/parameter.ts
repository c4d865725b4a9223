/**
 * Parameters: one definition parses, says in words what is allowed, and has the JSON Schema for the
 * OpenAPI document.
 */
import { isId } from '#shared/events/fields.ts';
import { parseLocalDateTime } from '#shared/events/instant.ts';
import { arrayOf, Flag, Id, LocalDateTimeBound, type Schema } from '#shared/records/answer.ts';

export interface Kind<T> {
  /** Follows "must be" in a refusal. */
  allowed: string;
  schema: Schema;
  /** Parses a text that is not empty; `null` if it is not allowed. */
  read: (text: string) => T | null;
}

/** What a parameter means in its place, for the OpenAPI document. */
interface Meaning {
  description: string;
  example?: string | number;
}

export interface Parameter<T> extends Meaning, Kind<unknown> {
  /** Its value if it is absent; a parameter without this is required. */
  absent?: T;
  /** It has each value once, in a fixed order. */
  repeatable?: true;
  /** The stored field of its name must have its value, or one of its values. */
  isField?: true;
}

export type Parameters = Record<string, Parameter<unknown>>;

export type Values<P extends Parameters> = {
  [N in keyof P]: P[N] extends Parameter<infer T> ? T : never;
};

/** A parameter that is `null` if it is absent. */
export function optional<T>(kind: Kind<T>, meaning: Meaning): Parameter<T | null> {
  return { ...meaning, ...kind, absent: null };
}

export function withDefault<T>(kind: Kind<T>, absent: T, meaning: Meaning): Parameter<T> {
  return { ...meaning, ...kind, schema: { ...kind.schema, default: absent }, absent };
}

export function required<T>(kind: Kind<T>, meaning: Meaning): Parameter<T> {
  return { ...meaning, ...kind };
}

/** A parameter that may be given several times; empty if it is absent. */
export function repeatable<T extends string>(
  kind: Kind<T>,
  meaning: Meaning,
): Parameter<readonly T[]> {
  return { ...meaning, ...kind, schema: arrayOf(kind.schema), absent: [], repeatable: true };
}

/** A filter by a field that is stored by itself (`filtered` in `shared/records/field.ts`). */
export function ofField<T>(parameter: Parameter<T>): Parameter<T> {
  return { ...parameter, isField: true };
}

/** A whole number in decimal digits. @param most a greater one is accepted and reduced to it. */
export function wholeNumber(
  most = Number.MAX_SAFE_INTEGER,
  least = 1,
  what = 'a whole number',
): Kind<number> {
  const reduced = most < Number.MAX_SAFE_INTEGER ? ` (above ${most} counts as ${most})` : '';
  return {
    allowed: `${what} from ${least} to 9007199254740991 in decimal digits without leading zeros${reduced}`,
    schema: {
      type: 'integer',
      format: 'int64',
      minimum: least,
      maximum: Number.MAX_SAFE_INTEGER,
      ...(most < Number.MAX_SAFE_INTEGER && { 'x-effective-maximum': most }),
    },
    read: (text) => {
      const value = /^(?:0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN;
      return Number.isSafeInteger(value) && value >= least ? Math.min(value, most) : null;
    },
  };
}

const MAX_WAIT_SECONDS = 30;

export const waitSeconds = wholeNumber(MAX_WAIT_SECONDS, 0, 'a whole number of seconds');

const CURSOR_CHARACTERS = 200;
const SHAPE_OF_CURSOR = `^[A-Za-z0-9_-]{1,${CURSOR_CHARACTERS}}$`;
const cursorShape = new RegExp(SHAPE_OF_CURSOR);

export const cursor: Kind<string> = {
  allowed:
    '`now`, or `next` of an answer of this path, for this store and environment and the same kinds and records',
  schema: { type: 'string', pattern: SHAPE_OF_CURSOR },
  read: (text) => (cursorShape.test(text) ? text : null),
};

/**
 * A local date-time, parsed as if it were UTC: milliseconds, to be shifted by the store's offset.
 */
export const localDateTime: Kind<number> = {
  allowed: 'a date-time YYYY-MM-DDTHH:MM:SS of the calendar, in local store time without a zone',
  schema: LocalDateTimeBound,
  read: parseLocalDateTime,
};

/** One of a closed list of words. `schema` is for clients: it may call them booleans. */
export function oneOf<const T extends string>(words: readonly T[], schema: Schema): Kind<T> {
  return {
    allowed: `one of ${words.join(', ')}`,
    schema,
    read: (text) => words.find((word) => word === text) ?? null,
  };
}

export const flag: Kind<boolean> = {
  allowed: 'one of true, false',
  schema: Flag,
  read: (text) => text === 'true' || (text === 'false' ? false : null),
};

export const id: Kind<string> = {
  allowed: 'an id: 1 to 64 of A-Z a-z 0-9 _ -',
  schema: Id,
  read: (text) => (isId(text) ? text : null),
};

const SEARCH_CHARACTERS = 100;

export const searchText: Kind<string> = {
  allowed: `text of 1 to ${SEARCH_CHARACTERS} characters besides blanks at both ends`,
  // A pattern, because lengths would count the blanks at both ends.
  schema: {
    type: 'string',
    pattern: String.raw`^\s*\S(?:[\s\S]{0,${SEARCH_CHARACTERS - 2}}\S)?\s*$`,
  },
  read: (text) => {
    const cut = text.trim();
    // Characters are code points: an emoji is one.
    return cut !== '' && Array.from(cut).length <= SEARCH_CHARACTERS ? cut : null;
  },
};
