/** The orders that are measured: spread evenly over the stores, each created and then changed. */
import { type EncodedMessage, encodeEvent } from '#shared/events/encode.ts';
import { orderState } from '../projector/topic/order.ts';

/** Which orders: of all stores together, from a number on. */
export interface Range {
  from: number;
  count: number;
}

export function storeId(index: number): string {
  return `s${index + 1}`;
}

/** The id of a store's first order. */
export const FIRST_ORDER = 'o0';

/** The events of the orders, version by version: created, then changed. */
export function orderEvents(
  { from, count }: Range,
  stores: number,
  versions: readonly number[] = [1, 2],
): EncodedMessage[] {
  return versions.flatMap((version) =>
    Array.from({ length: count }, (_, index) => {
      const place = Math.floor((from + index) / stores);
      return encodeEvent({
        entity: 'order',
        storeId: storeId((from + index) % stores),
        subject: `o${place}`,
        sequence: version,
        data: orderState(from + index, version),
        source: '/bench',
      });
    }),
  );
}
