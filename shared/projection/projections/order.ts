/** Orders: the list record, the details answer and what lists filter by. */
import type { OrderState } from '../../events/entities/order.ts';
import { toLocalDateTime } from '../../read-models/local-time.ts';
import { orderFacet } from '../../read-models/rank-tree/facets.ts';
import { timeKey } from '../../read-models/rank-tree/keys.ts';
import { address, instant, local, type Projection, updatedAt } from './projection.ts';

type Items = NonNullable<OrderState['items']>;

export const orderProjection: Projection<'order'> = {
  project({ id, state, time }, { offset, customerErased }) {
    const updated = updatedAt(state, time);
    const items = state.items ?? [];
    const customer = customerOf(state, customerErased);
    const customerId = state.customer?.id ?? null;
    const fields = {
      id,
      display_id: state.display_id ?? null,
      status: state.status,
      order_type: state.order_type,
      sales_channel: state.sales_channel ?? null,
    };
    const amounts = {
      item_count: items.reduce((sum, { quantity }) => sum + quantity, 0),
      subtotal: state.subtotal ?? null,
      delivery_fee: state.delivery_fee ?? '0.00',
      service_fee: state.service_fee ?? '0.00',
      discount: state.discount ?? '0.00',
      total: state.total,
      scheduled_for: local(state.scheduled_for, offset),
      created_at: local(state.created_at, offset),
      updated_at: toLocalDateTime(updated, offset),
    };
    return {
      rank_key: timeKey(instant(state.created_at), id),
      facet: orderFacet({ status: state.status, order_type: state.order_type, customer_id: customerId }),
      customer_id: customerId,
      updated_at: new Date(updated),
      summary: JSON.stringify({
        ...fields,
        customer: customer && { id: customer.id, name: customer.name, phone: customer.phone },
        ...amounts,
      }),
      whole: JSON.stringify({ customer, ...details(state, items, offset) }),
    };
  },

  customerOf: (state) => state.customer?.id ?? null,
};

function customerOf({ customer }: OrderState, erased: boolean) {
  if (customer === null || customer === undefined) return null;
  if (erased) return { id: customer.id, name: null, phone: null, document: null };
  const { id, name, phone, document } = customer;
  return { id, name: name ?? null, phone: phone ?? null, document: document ?? null };
}

function details(state: OrderState, items: Items, offset: string) {
  const { delivery, coupon, cancellation } = state;
  return {
    items: items.map((item) => ({
      id: item.id ?? null,
      product_id: item.product_id,
      external_code: item.external_code ?? null,
      name: item.name,
      quantity: item.quantity,
      unit_price: item.unit_price,
      options: (item.options ?? []).map((option) => ({
        option_group_id: option.option_group_id ?? null,
        option_id: option.option_id ?? null,
        external_code: option.external_code ?? null,
        name: option.name ?? null,
        quantity: option.quantity ?? null,
        unit_price: option.unit_price ?? null,
      })),
      notes: item.notes ?? null,
      total: item.total,
    })),
    delivery: delivery
      ? {
          address: address(delivery.address),
          fee: delivery.fee ?? null,
          estimated_at: local(delivery.estimated_at, offset),
        }
      : null,
    payments: (state.payments ?? []).map((payment) => ({
      method: payment.method ?? null,
      type: payment.type ?? null,
      amount: payment.amount ?? null,
      change_for: payment.change_for ?? null,
    })),
    coupon: coupon ? { id: coupon.id ?? null, code: coupon.code ?? null } : null,
    status_history: (state.status_history ?? []).map(({ status, at }) => ({
      status: status ?? null,
      at: local(at, offset),
    })),
    cancellation: cancellation
      ? { reason: cancellation.reason ?? null, at: local(cancellation.at, offset) }
      : null,
    notes: state.notes ?? null,
  };
}
