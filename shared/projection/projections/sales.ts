/** What a store sells to whom: its own record, customers, orders, reviews, coupons and campaigns. */
import { toLocalDateTime } from '../../read-models/local-time.ts';
import { address, instant, local, type Projection, shown, updatedAt } from './fields.ts';
import { alphanumericOf, digitsOf, foldName } from '../../read-models/search-texts.ts';
import { nameKey, timeKey, orderFacet, reviewFacet } from '../../read-models/rank-tree/keys.ts';
import type { EntityStates } from '../../events/entities.ts';

export const storeProjection: Projection<'store'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    const status = state.status ?? 'active';
    return {
      status,
      created_at: new Date(instant(state.created_at)),
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        ...shown(state, ['name', 'legal_name', 'document', 'phone', 'email']),
        status,
        timezone_offset: state.timezone_offset,
        currency: 'BRL',
        order_types: state.order_types ?? [],
        minimum_order_value: state.minimum_order_value ?? null,
        address: address(state.address),
        opening_hours: (state.opening_hours ?? []).map((hours) => shown(hours, ['weekday', 'opens', 'closes'])),
        created_at: local(state.created_at, offset),
        updated_at: toLocalDateTime(updated, offset),
      }),
    };
  },
};

export const customerProjection: Projection<'customer'> = {
  project({ id, state, time }, { offset }) {
    const updated = updatedAt(state, time);
    const document = state.document ?? '';
    return {
      rank_key: nameKey(foldName(state.name), id),
      created_key: timeKey(instant(state.created_at), id),
      document_digits: digitsOf(document),
      document_key: alphanumericOf(document),
      phone_digits: digitsOf(state.phone ?? ''),
      updated_at: new Date(updated),
      summary: JSON.stringify({
        id,
        ...shown(state, ['name', 'document', 'phone', 'email', 'birth_date']),
        accepts_marketing: state.accepts_marketing ?? false,
        addresses: (state.addresses ?? []).map(address),
        created_at: local(state.created_at, offset),
        updated_at: toLocalDateTime(updated, offset),
      }),
    };
  },
};

type OrderState = EntityStates['order'];
type Items = NonNullable<OrderState['items']>;

export const orderProjection: Projection<'order'> = {
  project({ id, state, time }, { offset, customerErased }) {
    const updated = updatedAt(state, time);
    const items = state.items ?? [];
    const customer = customerOf(state, customerErased);
    const customerId = state.customer?.id ?? null;
    const fields = { id, ...shown(state, ['display_id', 'status', 'order_type', 'sales_channel']) };
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
  return shown(customer, ['id', 'name', 'phone', 'document']);
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
    payments: (state.payments ?? []).map((one) => shown(one, ['method', 'type', 'amount', 'change_for'])),
    coupon: coupon ? shown(coupon, ['id', 'code']) : null,
    status_history: (state.status_history ?? []).map(({ status, at }) => ({
      status: status ?? null,
      at: local(at, offset),
    })),
    cancellation: cancellation ? { reason: cancellation.reason ?? null, at: local(cancellation.at, offset) } : null,
    notes: state.notes ?? null,
  };
}

export const reviewProjection: Projection<'review'> = {
  project({ id, state }, { offset, customerErased }) {
    const summary = {
      id,
      order_id: state.order_id ?? null,
      customer_id: state.customer_id ?? null,
      customer_name: customerErased ? null : (state.customer_name ?? null),
      rating: state.rating,
      comment: state.comment ?? null,
      created_at: local(state.created_at, offset),
    };
    return {
      rank_key: timeKey(instant(state.created_at), id),
      facet: reviewFacet(state.rating),
      customer_id: summary.customer_id,
      summary: JSON.stringify(summary),
      whole: JSON.stringify({
        ...summary,
        reply: state.reply ?? null,
        replied_at: local(state.replied_at, offset),
      }),
    };
  },

  customerOf: (state) => state.customer_id ?? null,
};

export const couponProjection: Projection<'coupon'> = {
  project({ id, state, time }, { offset }) {
    const summary = {
      id,
      ...shown(state, ['code', 'description', 'discount_type', 'discount_value']),
      ...shown(state, ['minimum_order_value', 'active']),
      starts_at: local(state.starts_at, offset),
      ends_at: local(state.ends_at, offset),
      created_at: local(state.created_at, offset),
      updated_at: toLocalDateTime(updatedAt(state, time), offset),
    };
    return {
      active: state.active,
      created_at: new Date(instant(state.created_at)),
      summary: JSON.stringify(summary),
      whole: JSON.stringify({
        ...summary,
        ...shown(state, ['maximum_discount', 'usage_limit', 'usage_count', 'per_customer_limit']),
        order_types: state.order_types ?? [],
      }),
    };
  },
};

export const campaignProjection: Projection<'campaign'> = {
  project({ id, state, time }, { offset }) {
    const summary = {
      id,
      ...shown(state, ['name', 'channel', 'status']),
      starts_at: local(state.starts_at, offset),
      ends_at: local(state.ends_at, offset),
      created_at: local(state.created_at, offset),
      updated_at: toLocalDateTime(updatedAt(state, time), offset),
    };
    return {
      status: state.status,
      created_at: new Date(instant(state.created_at)),
      summary: JSON.stringify(summary),
      whole: JSON.stringify({
        ...summary,
        ...shown(state, ['message', 'audience', 'coupon_id']),
        ...shown(state, ['sent_count', 'delivered_count', 'converted_count']),
      }),
    };
  },
};
