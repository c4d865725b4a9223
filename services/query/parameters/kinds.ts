/** The kinds of values that parameters have (rules R5.2 to R5.6). */
import { type TSchema, Type } from 'typebox';
import { isId } from '#shared/events/fields.ts';
import { parseLocalDateTime } from '#shared/events/instant.ts';
import { Id, LocalDateTime } from '../records/fields.ts';
import { type Kind, withDefault } from './parameter.ts';

/** A whole number, in decimal digits only. */
function wholeNumber(allowed: string, most = Number.MAX_SAFE_INTEGER, least = 1): Kind<number> {
  return {
    allowed,
    schema: Type.Integer({ minimum: least, maximum: Number.MAX_SAFE_INTEGER }),
    read: (text) => {
      const value = /^(?:0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN;
      return Number.isSafeInteger(value) && value >= least ? Math.min(value, most) : null;
    },
  };
}

const MOST_RECORDS = 100;
const WHOLE_NUMBER = 'a whole number from 1 to 9007199254740991 in decimal digits without leading zeros';

const pageSize = wholeNumber(
  `${WHOLE_NUMBER} (above ${MOST_RECORDS} counts as ${MOST_RECORDS})`,
  MOST_RECORDS,
);

/** The parameters of every list (rule R6.2). */
export const paging = {
  page: withDefault(wholeNumber(WHOLE_NUMBER), 1, {
    description: 'The page to answer, from 1. Beyond the last one `results` is empty.',
  }),
  page_size: withDefault(pageSize, 20, {
    description:
      'How many records a page has. More than 100 counts as 100; the answer tells what was applied.',
  }),
};

const LONGEST_WAIT_SECONDS = 30;

/** How long an answer may be held. */
export const waitSeconds = wholeNumber(
  `a whole number of seconds from 0 to 9007199254740991 in decimal digits without leading zeros (above ${LONGEST_WAIT_SECONDS} counts as ${LONGEST_WAIT_SECONDS})`,
  LONGEST_WAIT_SECONDS,
  0,
);

const CURSOR_CHARACTERS = 200;
const SHAPE_OF_CURSOR = `^[A-Za-z0-9_-]{1,${CURSOR_CHARACTERS}}$`;
const cursorShape = new RegExp(SHAPE_OF_CURSOR);

/** A place in a change feed, as an answer named it. */
export const cursor: Kind<string> = {
  allowed: '`next` of an answer of this path, for this store and environment',
  schema: Type.String({ pattern: SHAPE_OF_CURSOR }),
  read: (text) => (cursorShape.test(text) ? text : null),
};

/** A local date-time: milliseconds of the text read as if it were UTC, to be shifted by the store's offset. */
export const localDateTime: Kind<number> = {
  allowed: 'a date-time YYYY-MM-DDTHH:MM:SS of the calendar, in local store time without a zone',
  schema: LocalDateTime,
  read: parseLocalDateTime,
};

/** One of a closed list of words; `schema` is what clients take them for. */
export function oneOf<const T extends string>(words: readonly T[], schema: TSchema): Kind<T> {
  return {
    allowed: `one of ${words.join(', ')}`,
    schema,
    read: (text) => words.find((word) => word === text) ?? null,
  };
}

export const id: Kind<string> = {
  allowed: 'an id: 1 to 64 of A-Z a-z 0-9 _ -',
  schema: Id,
  read: (text) => (isId(text) ? text : null),
};

const SEARCH_CHARACTERS = 100;

/** Text to search for, without the blanks at both ends. */
export const searchText: Kind<string> = {
  allowed: `text of 1 to ${SEARCH_CHARACTERS} characters besides blanks at both ends`,
  // Blanks at both ends don't count, so that lengths alone would not tell.
  schema: Type.String({ pattern: String.raw`^\s*\S(?:[\s\S]{0,${SEARCH_CHARACTERS - 2}}\S)?\s*$` }),
  read: (text) => {
    const cut = text.trim();
    // Characters are code points: an emoji is one.
    return cut !== '' && Array.from(cut).length <= SEARCH_CHARACTERS ? cut : null;
  },
};
