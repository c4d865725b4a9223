/** Orders: most concluded, a few under way, four fifths of them by customers whom the store knows. */
import { addressOf, document, type EntityRecord, fullName, instantAt, money, phone, pick } from './record.ts';

/** Of twenty orders seven are something else than concluded. */
const STATUSES = [
  'pending',
  'confirmed',
  'preparing',
  'ready',
  'dispatched',
  'delivered',
  'cancelled',
  ...Array.from({ length: 13 }, () => 'concluded' as const),
] as const;
const TYPES = ['delivery', 'delivery', 'takeout', 'delivery', 'indoor'] as const;
const METHODS = ['pix', 'credit', 'debit', 'cash'] as const;

export function orderRecord(index: number, customers: number): EntityRecord<'order'> {
  // The steps have no common factor with the lengths, so that all combinations occur.
  const status = pick(STATUSES, index * 7);
  const orderType = pick(TYPES, Math.floor(index / 20));
  const person = (index * 13) % Math.max(1, Math.floor(customers / 2));
  const total = 3_000 + ((index * 37) % 12_000);
  return {
    entity: 'order',
    id: `o${index}`,
    state: {
      display_id: `#${1_000 + index}`,
      status,
      order_type: orderType,
      sales_channel: pick(['own_app', 'marketplace', 'counter'], index),
      customer:
        index % 5 === 0
          ? null
          : {
              id: `c${person}`,
              name: fullName(person),
              phone: phone(person),
              document: document(person),
            },
      subtotal: money(total - 700),
      delivery_fee: orderType === 'delivery' ? '7.00' : '0.00',
      service_fee: '0.00',
      discount: '0.00',
      total: money(total),
      scheduled_for: index % 10 === 0 ? instantAt(index + 3) : null,
      items: Array.from({ length: 1 + (index % 3) }, (_, item) => itemOf(index + item)),
      delivery:
        orderType === 'delivery'
          ? { address: addressOf(person), fee: '7.00', estimated_at: instantAt(index + 2) }
          : null,
      payments: [{ method: pick(METHODS, index), type: 'prepaid', amount: money(total), change_for: null }],
      coupon: index % 8 === 0 ? { id: `n${index % 100}`, code: `PROMO${index % 100}` } : null,
      status_history: [
        { status: 'pending', at: instantAt(index) },
        { status, at: instantAt(index + 1) },
      ],
      cancellation: status === 'cancelled' ? { reason: 'o cliente desistiu', at: instantAt(index + 1) } : null,
      notes: index % 6 === 0 ? 'tocar o interfone' : null,
      created_at: instantAt(index),
      updated_at: instantAt(index + 1),
    },
  };
}

function itemOf(index: number) {
  return {
    id: `i${index}`,
    product_id: `p${index % 500}`,
    external_code: `SKU-${index % 500}`,
    name: pick(['Pizza Calabresa Grande', 'Pizza Portuguesa', 'Guaraná 2 L', 'Esfiha de Carne'], index),
    quantity: 1 + (index % 2),
    unit_price: '39.90',
    options: [
      {
        option_group_id: `g${index % 100}`,
        option_id: `a${index % 100}`,
        external_code: null,
        name: 'Borda de Catupiry',
        quantity: 1,
        unit_price: '8.00',
      },
    ],
    notes: index % 5 === 0 ? 'sem cebola' : null,
    total: '47.90',
  };
}
