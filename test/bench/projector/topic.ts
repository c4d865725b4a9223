/** The topic: orders that are all created, then all changed, and what is published of them. */
import { type EncodedMessage, encodeEvent } from '#shared/events/encode.ts';
import type { EntityStates } from '#shared/events/entities.ts';
import { changesTopic } from '#shared/events/topics.ts';
import type { Installation, RawMessage } from '#test/installation.ts';
import { progressOf } from '../progress.ts';
import { orderRecord } from '../query/stores/order.ts';
import { instantAt } from '../query/stores/record.ts';
import type { Say } from '../say.ts';

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

type OrderState = EntityStates['order'];

/** Customers who order, in each store. */
const CUSTOMERS = 4_000;

/** The order at a place of its store. The second version is concluded a while later. */
export function orderState(index: number, version: number): OrderState {
  const { state } = orderRecord(index, CUSTOMERS);
  const [item] = state.items ?? [];
  const created: OrderState = {
    ...state,
    status: 'confirmed',
    items: item === undefined ? [] : [index % 3 === 0 ? item : { ...item, options: [] }],
    cancellation: null,
    status_history: [{ status: 'pending', at: state.created_at }],
    updated_at: state.created_at,
  };
  if (version === 1) return created;
  const at = instantAt(index + version);
  return {
    ...created,
    status: version % 2 === 0 ? 'concluded' : 'dispatched',
    status_history: [...(created.status_history ?? []), { status: 'concluded', at }],
    updated_at: at,
  };
}

const CHUNK = 2_000;

export interface Published {
  /** In all partitions, both versions. */
  events: number;
  /** Where the changes begin in each partition. */
  boundaries: number[];
  /** Of the messages' values, in the middle. */
  bytesPerEvent: number;
}

/** Publishes every order as created, then every order as changed. */
export async function publishOrders(
  { send, environment }: Installation,
  orders: number,
  say: Say,
): Promise<Published> {
  const topic = changesTopic(environment);
  const tell = progressOf(say, 'published', 2 * orders);
  let bytes = 0;
  for (const version of [1, 2]) {
    for (let from = 0; from < orders; from += CHUNK) {
      const messages: RawMessage[] = [];
      for (let index = from; index < Math.min(orders, from + CHUNK); index += 1) {
        const message = orderMessage(index, version);
        bytes += Buffer.byteLength(message.value ?? '');
        messages.push(message);
      }
      await send(topic, messages);
      tell((version - 1) * orders + from);
    }
  }
  const boundaries = Array.from({ length: PARTITIONS }, () => 0);
  for (let index = 0; index < orders; index += 1) {
    const { partition } = placeOf(index);
    boundaries[partition] = (boundaries[partition] ?? 0) + 1;
  }
  return { events: 2 * orders, boundaries, bytesPerEvent: Math.round(bytes / (2 * orders)) };
}
