/**
 * The state of each entity with every field of docs/rules.md, copied from there: `TEXT` stands for
 * any text, and each list has one entry.
 */
import type { EntityName, EntityStates } from '#shared/events/entities.ts';

export const TEXT = 'text';
const MONEY = '1.00';
const AT = '2026-11-20T21:15:04.120Z';

/** Fields with these names and one value. */
function each<N extends string, V>(value: V, ...names: N[]): Record<N, V> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<N, V>;
}

const texts = <N extends string>(...names: N[]) => each(TEXT, ...names);
const amounts = <N extends string>(...names: N[]) => each(MONEY, ...names);
const ones = <N extends string>(...names: N[]) => each(1, ...names);
const MADE = each(AT, 'created_at', 'updated_at');
const PERIOD = each(AT, 'starts_at', 'ends_at');

const address = {
  ...texts(
    'street',
    'number',
    'complement',
    'district',
    'city',
    'state',
    'postal_code',
    'reference',
  ),
  latitude: -23.5,
  longitude: -46.6,
};

export const COMPLETE_STATES: { readonly [E in EntityName]: EntityStates[E] } = {
  store: {
    ...texts('name', 'legal_name', 'document', 'phone', 'email'),
    status: 'active',
    timezone_offset: '-03:00',
    currency: 'BRL',
    order_types: ['delivery'],
    minimum_order_value: MONEY,
    address,
    opening_hours: [{ weekday: 'monday', opens: '08:00', closes: '18:00' }],
    ...MADE,
  },
  coupon: {
    ...texts('code', 'description'),
    discount_type: 'fixed',
    ...amounts('discount_value', 'minimum_order_value', 'maximum_discount'),
    active: true,
    ...PERIOD,
    ...ones('usage_limit', 'usage_count', 'per_customer_limit'),
    order_types: ['delivery'],
    ...MADE,
  },
  customer: {
    ...texts('name', 'document', 'phone', 'email'),
    birth_date: '1990-01-31',
    accepts_marketing: true,
    addresses: [address],
    ...MADE,
  },
  review: {
    order_id: 'o1',
    customer_id: 'c1',
    ...texts('customer_name', 'comment', 'reply'),
    rating: 5,
    ...each(AT, 'replied_at', 'created_at'),
  },
  campaign: {
    ...texts('name', 'message', 'audience'),
    channel: 'sms',
    status: 'draft',
    ...PERIOD,
    coupon_id: 'n1',
    ...ones('sent_count', 'delivered_count', 'converted_count'),
    ...MADE,
  },
  order: {
    ...texts('display_id', 'sales_channel', 'notes'),
    status: 'pending',
    order_type: 'delivery',
    customer: { id: 'c1', ...texts('name', 'phone', 'document') },
    ...amounts('subtotal', 'delivery_fee', 'service_fee', 'discount', 'total'),
    scheduled_for: AT,
    items: [
      {
        id: 'i1',
        product_id: 'p1',
        ...texts('external_code', 'name', 'notes'),
        quantity: 1,
        ...amounts('unit_price', 'total'),
        options: [
          {
            option_group_id: 'g1',
            option_id: 'a',
            ...texts('external_code', 'name'),
            quantity: 1,
            unit_price: MONEY,
          },
        ],
      },
    ],
    delivery: { address, fee: MONEY, estimated_at: AT },
    payments: [{ method: 'pix', type: 'prepaid', ...amounts('amount', 'change_for') }],
    coupon: { id: 'n1', code: TEXT },
    status_history: [{ status: 'pending', at: AT }],
    cancellation: { reason: TEXT, at: AT },
    ...MADE,
  },
  category: { ...texts('name', 'description', 'image_url'), position: 1, active: true, ...MADE },
  product: {
    category_id: 'k1',
    ...texts('name', 'description', 'image_url', 'external_code', 'ean'),
    ...amounts('price', 'promotional_price'),
    active: true,
    ...ones('position', 'serves'),
    option_group_ids: ['g1'],
    ...MADE,
  },
  option_group: {
    ...texts('name', 'external_code'),
    min: 0,
    ...ones('max', 'position'),
    price_method: 'sum',
    options: [
      {
        id: 'a',
        ...texts('name', 'description', 'external_code'),
        price: MONEY,
        ...ones('max_quantity', 'position'),
        active: true,
      },
    ],
  },
};
