/** Where bodies lie in the documents of the read models. A document's `offset` is that of all its bodies. */
import { COLLECTIONS } from './collections.ts';

/** The collections whose documents hold bodies. */
export const COLLECTIONS_WITH_BODIES: readonly string[] = Object.values(COLLECTIONS);

const itself = (text: string) => text;
const membersOf = (text: string) => `{${text}}`;

/** How each field becomes JSON: some hold members of an object. */
const BODIES: Record<string, (text: string) => string> = {
  summary: itself,
  active_summary: itself,
  whole: itself,
  dates: membersOf,
  before_groups: membersOf,
  after_groups: membersOf,
};

/** The fields that hold bodies, in whatever collection. */
export const BODY_FIELDS: readonly string[] = Object.keys(BODIES);

/** The JSON that a field of a document holds a whole or a part of; `null` for a field that holds no body. */
export function jsonOf(field: string, text: string): string | null {
  return BODIES[field]?.(text) ?? null;
}
