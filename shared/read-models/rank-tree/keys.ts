/**
 * The order of sort keys by code point is the order of a list; MongoDB compares bytes, which for
 * UTF-8 is the same.
 */
import { ORDER_STATUSES } from '../../records/order.ts';
import { ORDER_TYPES } from '../../records/store.ts';

/**
 * Later than every instant that an event can carry, earlier than none: the year 9999 and a zone of
 * 24 h.
 */
const LATEST = 253_402_387_200_000;
const DIGITS = 10;
const RADIX = 36;

export function timePrefix(instant: number): string {
  return (LATEST - instant).toString(RADIX).padStart(DIGITS, '0');
}

export function timeKey(instant: number, id: string): string {
  return timePrefix(instant) + id;
}

/**
 * Names hold no NUL (rule R12.1), and nothing sorts before it: `Ana` comes before `Ana Lima` with
 * any ids.
 */
const NAME_END = '\0';

export function nameKey(folded: string, id: string): string {
  return folded + NAME_END + id;
}

/** The ids that begin with some parts, such as `<tree>/<store id>`, and a slash. */
export function idsBelow(parts: string): { $gte: string; $lt: string } {
  // "0" follows "/": nothing else lies between.
  return { $gte: `${parts}/`, $lt: `${parts}0` };
}

/** A range of keys: `from` included, `to` not; `''` and `null` are open ends. */
export interface KeyRange {
  from: string;
  to: string | null;
}

/**
 * Keys of instants from `from` on and before `before`. The newest come first: the later bound is
 * the lower one.
 */
export function timeRange(from: number | null, before: number | null): KeyRange {
  return {
    from: before === null ? '' : timePrefix(Math.min(before - 1, LATEST)),
    to: from === null ? null : timePrefix(Math.min(from - 1, LATEST)),
  };
}

/**
 * Compares two keys by code point; JavaScript's own comparison is by UTF-16 unit, and puts `😀`
 * before `ﬁ`.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return byCodePoint(left) - byCodePoint(right);
  }
  return a.length - b.length;
}

/** Moves surrogates behind all other UTF-16 units: code points beyond U+FFFF are the highest. */
function byCodePoint(unit: number): number {
  if (unit < 0xd8_00) return unit;
  return unit < 0xe0_00 ? unit + 0x20_00 : unit - 0x08_00;
}

/**
 * Index of the last of `length` ordered boundaries that is not above a key. The first must not be
 * above it.
 */
export function indexOfKey(
  length: number,
  boundaryAt: (index: number) => string,
  key: string,
): number {
  let low = 0;
  let high = length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (compareKeys(boundaryAt(middle), key) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The shortest beginning of `right` that is above `left`: a boundary that reveals as little as
 * possible.
 */
export function boundaryBetween(left: string, right: string): string {
  // By code points: MongoDB does not store the half of one.
  const before = Array.from(left);
  const after = Array.from(right);
  const at = after.findIndex((point, index) => point !== before[index]);
  return after.slice(0, at + 1).join('');
}

// Facets: what a list can be filtered by besides its order, joined into one short code for each
// record, so that counts of every combination can be kept. An order's is three characters: status,
// order type, and whether it names a customer.

/** The only facet of lists that know none. */
export const ANY = 'a';

export interface OrderFacets {
  status: string;
  order_type: string;
  customer_id: string | null;
}

const FIRST_LETTER = 97;

function lettersOf(words: readonly string[]): ReadonlyMap<string, string> {
  return new Map(words.map((word, index) => [word, String.fromCharCode(FIRST_LETTER + index)]));
}

const STATUS_LETTERS = lettersOf(ORDER_STATUSES);
const TYPE_LETTERS = lettersOf(ORDER_TYPES);

/** The code of an order, such as `ga1`: concluded, a delivery, by a customer. */
export function orderFacet({ status, order_type, customer_id }: OrderFacets): string {
  const named = customer_id === null ? '0' : '1';
  return `${STATUS_LETTERS.get(status) ?? ''}${TYPE_LETTERS.get(order_type) ?? ''}${named}`;
}

export function statusOfFacet(facet: string): (typeof ORDER_STATUSES)[number] | null {
  return ORDER_STATUSES[facet.charCodeAt(0) - FIRST_LETTER] ?? null;
}

/**
 * An empty list lets all through; `null` when everything passes.
 * @param namesCustomer whether only orders that name a customer count.
 */
export function orderFacets(
  statuses: readonly string[],
  types: readonly string[],
  namesCustomer: boolean,
): string[] | null {
  if (statuses.length === 0 && types.length === 0 && !namesCustomer) return null;
  const codes: string[] = [];
  for (const status of statuses.length === 0 ? ORDER_STATUSES : new Set(statuses)) {
    for (const type of types.length === 0 ? ORDER_TYPES : new Set(types)) {
      const code = orderFacet({ status, order_type: type, customer_id: '' });
      codes.push(code);
      if (!namesCustomer) codes.push(orderFacet({ status, order_type: type, customer_id: null }));
    }
  }
  return codes;
}

export function reviewFacet(rating: number | string): string {
  return `r${rating}`;
}

export function reviewFacets(ratings: readonly string[]): string[] | null {
  return ratings.length === 0 ? null : [...new Set(ratings)].map(reviewFacet);
}
