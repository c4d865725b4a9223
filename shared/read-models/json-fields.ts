/** Which fields of read models hold finished JSON. A document's `offset` is that of the date-times in all of them. */

/** The fields of all collections that hold finished JSON: a value, or members of an object. */
const JSON_FIELDS = ['summary', 'active_summary', 'whole'];
const MEMBER_FIELDS = ['dates', 'before_groups', 'after_groups'];
export const SHIFTED_FIELDS: readonly string[] = [...JSON_FIELDS, ...MEMBER_FIELDS];

/** The JSON of a field, in braces where it holds members; `null` for any other field. */
export function jsonOf(field: string, text: string): string | null {
  if (MEMBER_FIELDS.includes(field)) return `{${text}}`;
  return JSON_FIELDS.includes(field) ? text : null;
}
