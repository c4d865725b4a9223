/** The topic: all orders are created, then all are changed, version by version. */
import { encodeEvent, changesTopic } from '#shared/events/topics.ts';
import type { EntityStates } from '#shared/events/entities.ts';
import type { Installation, RawMessage } from '#test/installation.ts';
import { times } from '#test/times.ts';
import { progressOf } from '../say.ts';
import { instantAt, orderRecord } from '../query/stores.ts';

const STORES = 20;
export const PARTITIONS = 6;

/** The event of an order's version; its store always goes to the same partition. */
function orderMessage(index: number, version: number): RawMessage {
  const store = index % STORES;
  const number = Math.floor(index / STORES);
  const event = {
    entity: 'order',
    storeId: `store-${store}`,
    subject: `o${number}`,
    sequence: version,
    data: orderState(number, version),
    source: '/bench',
  };
  return { ...encodeEvent(event), partition: store % PARTITIONS };
}

/** Customers of each store. */
const CUSTOMERS = 4_000;

/** The order with an index in its store. Its second version is concluded. */
export function orderState(index: number, version: number): EntityStates['order'] {
  const { state } = orderRecord(index, CUSTOMERS);
  return {
    ...state,
    status: version % 2 === 0 ? 'concluded' : 'confirmed',
    items: state.items?.slice(0, 1) ?? [],
    updated_at: instantAt(index + version),
  };
}

const CHUNK = 2_000;

/** Publishes all creations, then all changes. @returns the bytes of the messages' values. */
export async function publishOrders(
  { send, environment }: Installation,
  { orders, versions }: { orders: number; versions: number },
): Promise<number> {
  const tell = progressOf('published', versions * orders);
  let bytes = 0;
  for (let version = 1; version <= versions; version += 1) {
    for (let from = 0; from < orders; from += CHUNK) {
      const messages = times(Math.min(CHUNK, orders - from), (index) =>
        orderMessage(from + index, version),
      );
      bytes += messages.reduce((sum, { value }) => sum + Buffer.byteLength(value ?? ''), 0);
      await send(changesTopic(environment), messages);
      tell((version - 1) * orders + from);
    }
  }
  return bytes;
}
