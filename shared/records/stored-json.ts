/**
 * The JSON of records that documents hold. Its date-times are in the store's offset at that time;
 * readers shift them if it has moved since.
 */
import { offsetMilliseconds, toLocalDateTime } from '../read-models/local-time.ts';
import { COMPONENT, type Fields, LocalDateTime, type Schema } from './answer.ts';
import { answersOf } from './field.ts';
import { RECORDS } from './records.ts';

const NAMES = instantFields(
  Object.values(RECORDS).map(({ fields, more }) => answersOf({ ...fields, ...more })),
).join('|');

/**
 * By the name of its field. A quote in a text has a backslash before it: quote, colon, quote stand
 * nowhere else. In exact JSON years may have a sign and six digits.
 */
const DATE_TIME = new RegExp(
  `"(?:\\d{4}|[+-]\\d{6})-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}"(?<="(?:${NAMES})":(?:.{21}|.{24}))`,
  'g',
);

/** Shifts the date-times of JSON, or of members without braces, from one offset to another. */
export function shiftJson(json: string, from: string, to: string): string {
  if (from === to) return json;
  const before = offsetMilliseconds(from);
  return json.replaceAll(DATE_TIME, (quoted) => {
    const instant = Date.parse(`${quoted.slice(1, -1)}Z`) - before;
    return `"${toLocalDateTime(instant, to)}"`;
  });
}

/** Date-times at the edges of the range, which may stand for other instants. */
const EDGES = ['0000-01-01T00:00:00', '9999-12-31T23:59:59'];

/** Whether JSON can be shifted and shifted back without loss. */
export function isReversible(json: string): boolean {
  return !EDGES.some((edge) => json.includes(edge));
}

/** The names of fields with a date-time in local store time, at any depth. */
export function instantFields(all: readonly Fields[]): string[] {
  const names = new Set<string>();
  const visit = (fields: Fields): void => {
    for (const [field, schema] of Object.entries(fields)) {
      const { anyOf, items } = schema as { anyOf?: Schema[]; items?: Schema };
      const present = anyOf?.[0] ?? items ?? schema;
      if (present['$ref'] === LocalDateTime['$ref']) names.add(field);
      const properties = present[COMPONENT]?.schema['properties'];
      if (properties !== undefined) visit(properties as Fields);
    }
  };
  for (const fields of all) visit(fields);
  return [...names];
}

/**
 * The fields that hold finished JSON: a value, or members of an object. A document's `offset` is
 * that of the date-times in all of them.
 */
const JSON_FIELDS = ['summary', 'active_summary', 'whole'];
const MEMBER_FIELDS = ['dates', 'before_groups', 'after_groups'];
export const SHIFTED_FIELDS: readonly string[] = [...JSON_FIELDS, ...MEMBER_FIELDS];

/** The JSON of a field, in braces if it holds members; `null` for any other field. */
export function jsonOf(field: string, text: string): string | null {
  if (MEMBER_FIELDS.includes(field)) return `{${text}}`;
  return JSON_FIELDS.includes(field) ? text : null;
}
