/** Orders of about 900 bytes, as they are created and as they are when they have changed. */
import type { EntityStates } from '#shared/events/entities/index.ts';
import { orderRecord } from '../../query/stores/order.ts';
import { instantAt } from '../../query/stores/record.ts';

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
