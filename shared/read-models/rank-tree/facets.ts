/**
 * Facets: what a list can be filtered by besides its order, joined into one short code for each record, so that counts of every
 * combination can be kept. An order's is three characters: status, order type, and whether it names a customer.
 */
import { ORDER_STATUSES, ORDER_TYPES } from '../../events/entities/order.ts';

/** The only facet of lists that know none. */
export const ANY = 'a';

export interface OrderFacets {
  status: string;
  order_type: string;
  customer_id: string | null;
}

const FIRST_LETTER = 97;

/** A letter for each word of a closed list: `a` for the first. */
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

/** The status of the orders with that code. */
export function statusOfFacet(facet: string): (typeof ORDER_STATUSES)[number] | null {
  return ORDER_STATUSES[facet.charCodeAt(0) - FIRST_LETTER] ?? null;
}

/**
 * The codes of the orders that filters let through, where an empty list lets all through; `null` when everything passes.
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

/** The code of a review. */
export function reviewFacet(rating: number | string): string {
  return `r${rating}`;
}

/** The codes of the reviews with one of some ratings; `null` when none is asked for and all pass. */
export function reviewFacets(ratings: readonly string[]): string[] | null {
  return ratings.length === 0 ? null : [...new Set(ratings)].map(reviewFacet);
}
