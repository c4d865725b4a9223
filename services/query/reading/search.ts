/** What `search` matches in a customer: name, document and phone (CONTRACT section 1, `search`). */
import type { Document } from 'mongodb';
import { alphanumericOf, digitsOf, foldName } from '#shared/read-models/folding.ts';

/** The filter of customers that a text finds. */
export function searchFilter(text: string): Document {
  const fields: [field: string, part: string][] = [['name_key', foldName(text)]];
  if (/^[\s+\-./()0-9]*[0-9][\s+\-./()0-9]*$/.test(text)) {
    const digits = digitsOf(text);
    fields.push(['document_digits', digits], ['phone_digits', digits]);
  }
  if (/\p{L}/u.test(text) && /\p{Nd}/u.test(text)) fields.push(['document_key', alphanumericOf(text)]);
  return { $or: fields.map(([field, part]) => ({ [field]: { $regex: escapePattern(part) } })) };
}

/** A pattern that matches a text as it is. NUL, which no pattern can carry, is written as an escape. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`).replaceAll('\0', String.raw`\x00`);
}
