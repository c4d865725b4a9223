/**
 * The bounds of texts and lists, copied from rules R12.5 to R12.7, independent of the services'
 * code.
 */

const NAMES = new Set(['name', 'legal_name', 'customer_name']);
const PROSE = new Set([
  'description',
  'message',
  'audience',
  'comment',
  'reply',
  'notes',
  'reason',
  'reference',
]);

/** The maximum code points of a text field, at any depth. */
export function textBound(field: string): number {
  if (NAMES.has(field)) return 200;
  if (PROSE.has(field)) return 5_000;
  return field === 'image_url' ? 2_000 : 255;
}

/** The maximum entries of lists, by path. */
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

/** The maximum size of an option group's known fields as JSON. */
export const GROUP_BYTES = 64 * 1024;
