/** Where bodies lie in the documents of the read models. A document's `offset` is that of all its bodies. */

/** The fields of all collections that hold finished JSON: a value, or members of an object. */
const JSON_FIELDS = ['summary', 'active_summary', 'whole'];
const MEMBER_FIELDS = ['dates', 'before_groups', 'after_groups'];
export const BODY_FIELDS: readonly string[] = [...JSON_FIELDS, ...MEMBER_FIELDS];

/** The JSON that a field of a document holds a whole or a part of; `null` for a field that holds no body. */
export function jsonOf(field: string, text: string): string | null {
  if (MEMBER_FIELDS.includes(field)) return `{${text}}`;
  return JSON_FIELDS.includes(field) ? text : null;
}
