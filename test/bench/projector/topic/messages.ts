/** The messages of the topic that is measured: events for us, documents with an `_id` for the connector. */
import { type EncodedMessage, encodeEvent } from '#shared/events/encode.ts';
import type { RawMessage } from '#test/installation.ts';
import { orderState } from './order.ts';

export const STORES = 20;
export const PARTITIONS = 6;

/** A store and the partition that it always goes to: as many as possible of the one as of the other. */
export interface Place {
  storeId: string;
  partition: number;
}

export function placeOf(index: number): Place {
  const store = index % STORES;
  return { storeId: `store-${store}`, partition: store % PARTITIONS };
}

/**
 * The event of an order's version. Beside the attributes of a CloudEvent it has the `_id` that the connector writes by, so that
 * the connector need not make one; our reader passes over attributes that it does not know.
 */
export function orderMessage(index: number, version: number): RawMessage {
  const { storeId, partition } = placeOf(index);
  const id = `o${Math.floor(index / STORES)}`;
  const { key, value, headers }: EncodedMessage = encodeEvent({
    entity: 'order',
    storeId,
    subject: id,
    sequence: version,
    data: orderState(Math.floor(index / STORES), version),
    source: '/bench',
  });
  return { key, value: `{"_id":"${storeId}/${id}",${value.slice(1)}`, headers, partition };
}
