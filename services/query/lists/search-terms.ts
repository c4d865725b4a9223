/** What customers are searched by (rules R6.6, R6.7). */
import type { Document } from 'mongodb';
import { alphanumericOf, digitsOf, foldName } from '#shared/read-models/search-texts.ts';

export interface SearchTerms {
  /** A part of the folded name; `null` if no name can hold it. */
  name: string | null;
  /** A part of the document's or the phone's digits. */
  digits: string | null;
  /** A part of the document's letters and digits. */
  key: string | null;
}

/** The terms of a text; `null` if nothing is left of it, so that every customer matches. */
export function searchTerms(text: string): SearchTerms | null {
  const name = foldName(text);
  if (name === '') return null;
  // Pasted numbers have dashes and marks of direction of their own.
  const isNumber = /^[\s+./()\p{Pd}\p{Cf}0-9]*[0-9][\s+./()\p{Pd}\p{Cf}0-9]*$/u.test(text);
  const isKey = /\p{L}/u.test(text) && /\p{Nd}/u.test(text);
  return {
    name: name.includes('\0') ? null : name,
    digits: isNumber ? digitsOf(text) : null,
    key: isKey ? alphanumericOf(text) : null,
  };
}

/** The filter of the customers that match. */
export function searchFilter({ name, digits, key }: SearchTerms): Document {
  const fields: Document[] = [];
  // A rank key holds one NUL, between the name and the id: the id is not searched.
  if (name !== null) fields.push({ rank_key: { $regex: `${escapePattern(name)}[^\\x00]*\\x00` } });
  if (digits !== null) {
    fields.push({ document_digits: { $regex: digits } }, { phone_digits: { $regex: digits } });
  }
  if (key !== null) fields.push({ document_key: { $regex: escapePattern(key) } });
  return fields.length === 0 ? { _id: { $in: [] } } : { $or: fields };
}

/** A pattern that matches a text as it is. */
function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`);
}
