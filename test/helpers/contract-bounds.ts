/** The bounds of texts and lists as rules R12.5 to R12.7 say them, to the letter: independent of what the services make of them. */

const NAMES = new Set(['name', 'legal_name', 'customer_name']);
const PROSE = new Set(['description', 'message', 'audience', 'comment', 'reply', 'notes', 'reason', 'reference']);

/** The code points that the text of a field may have, wherever it stands. */
export function textBound(field: string): number {
  if (NAMES.has(field)) return 200;
  if (PROSE.has(field)) return 5_000;
  return field === 'image_url' ? 2_000 : 255;
}

/** Entries of lists, by where they stand. */
export const LISTS = {
  addresses: 50,
  opening_hours: 50,
  payments: 50,
  items: 500,
  'items[].options': 100,
  status_history: 200,
  option_group_ids: 100,
  options: 200,
  order_types: 10,
} as const;

/** Of the known fields of an option group, as JSON. */
export const GROUP_BYTES = 64 * 1024;
