/**
 * The bounds of event data (rules R12.5 to R12.8): how long its texts and lists may be. An event beyond a bound is poison. The bounds
 * limit the size of every stored document.
 */

/** Texts, in Unicode code points. */
export const TEXT_BOUNDS = {
  /** `name`, `legal_name` and `customer_name`, wherever they stand. */
  name: 200,
  /** `description`, `message`, `audience`, `comment`, `reply`, `notes`, `reason` and `reference`, wherever they stand. */
  prose: 5_000,
  image_url: 2_000,
  /** Every other text. */
  other: 255,
} as const;

/** Lists, in entries. */
export const LIST_BOUNDS = {
  addresses: 50,
  opening_hours: 50,
  payments: 50,
  /** Of an order. */
  items: 500,
  /** Of an order's item. */
  item_options: 100,
  status_history: 200,
  option_group_ids: 100,
  /** Of an option group. */
  options: 200,
  order_types: 10,
} as const;

/** An option group's known fields, in bytes of UTF-8 as `JSON.stringify` writes them: 64 KiB. */
export const OPTION_GROUP_BYTES = 65_536;
