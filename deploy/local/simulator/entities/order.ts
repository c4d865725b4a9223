/** Orders: what was ordered, by whom, for how much and how it is paid, and the state of an order at each step of its way. */
import type { OrderState } from '#shared/events/entities/order.ts';
import { instant } from '../instant.ts';
import { money, percentOf } from '../money.ts';
import { type Chance, happens, pick } from '../random.ts';
import { COUPONS, discountOf, isUsable } from './coupon.ts';
import type { SimulatedCustomer } from './customer.ts';
import { orderItems } from './order-items.ts';
import { type Journey, orderJourney, type OrderType } from './order-journey.ts';
import type { SimulatedStore } from './store.ts';

export interface SimulatedOrder {
  id: string;
  journey: Journey;
  /** All that stays the same on its way. */
  placed: Omit<OrderState, 'status' | 'status_history' | 'cancellation' | 'updated_at'>;
}

const MINUTE = 60_000;
/** In cents, for orders through the app. */
const APP_FEE = 99;
const INDOOR_SERVICE_PERCENT = 10;
const NOTES = ['Tocar o interfone', 'Deixar na portaria', 'Não tocar a campainha', 'Ligar ao chegar'];

/** A new order of the customer. `number` is the store's own count, of which people get to see four digits. */
export function placeOrder(
  chance: Chance,
  store: SimulatedStore,
  customer: SimulatedCustomer,
  { id, number, at }: { id: string; number: number; at: number },
): SimulatedOrder {
  const type = orderType(chance, store);
  const channel = type === 'indoor' ? 'counter' : pick(chance, ['app', 'app', 'site', 'whatsapp', 'phone']);
  const { items, subtotal } = orderItems(chance, store);
  const deliveryFee = type === 'delivery' ? pick(chance, store.deliveryFees) : 0;
  const serviceFee =
    type === 'indoor' ? percentOf(subtotal, INDOOR_SERVICE_PERCENT) : channel === 'app' ? APP_FEE : 0;
  const usable = COUPONS.filter((coupon) => isUsable(coupon, type, subtotal));
  const coupon = happens(chance, 18) && usable.length > 0 ? pick(chance, usable) : null;
  const discount = coupon === null ? 0 : discountOf(coupon, subtotal, deliveryFee);
  const total = subtotal + deliveryFee + serviceFee - discount;
  const minutesToCome = chance.number.int({ min: 30, max: 60 });
  const scheduled = type !== 'indoor' && happens(chance, 4) ? instant(at + 2 * minutesToCome * MINUTE) : null;
  return {
    id,
    journey: orderJourney(chance, type),
    placed: {
      display_id: String(number % 10_000).padStart(4, '0'),
      order_type: type,
      sales_channel: channel,
      customer: type === 'indoor' && happens(chance, 60) ? null : identity(customer),
      subtotal: money(subtotal),
      delivery_fee: money(deliveryFee),
      service_fee: money(serviceFee),
      discount: money(discount),
      total: money(total),
      scheduled_for: scheduled,
      items,
      delivery:
        type === 'delivery'
          ? {
              address: customer.state.addresses?.[0] ?? null,
              fee: money(deliveryFee),
              estimated_at: scheduled ?? instant(at + minutesToCome * MINUTE),
            }
          : null,
      payments: orderPayments(chance, type, total),
      coupon: coupon !== null && discount > 0 ? { id: coupon.id, code: coupon.code } : null,
      notes: type === 'delivery' && happens(chance, 15) ? pick(chance, NOTES) : null,
      created_at: instant(at),
    },
  };
}

/** The order's state once it has made as many steps as there are times, each at its time. */
export function orderState({ journey, placed }: SimulatedOrder, times: readonly number[]): OrderState {
  const history = journey.steps
    .slice(0, times.length)
    .map(({ status }, index) => ({ status, at: instant(times[index] ?? 0) }));
  const last = history.at(-1);
  if (last === undefined) throw new RangeError('an order has made at least one step');
  return {
    ...placed,
    status: last.status,
    status_history: history,
    cancellation: last.status === 'cancelled' ? { reason: journey.cancellationReason, at: last.at } : null,
    updated_at: last.at,
  };
}

function orderType(chance: Chance, { cuisine }: SimulatedStore): OrderType {
  if (happens(chance, 70)) return 'delivery';
  return cuisine.indoor && happens(chance, 35) ? 'indoor' : 'takeout';
}

function identity({ id, state }: SimulatedCustomer): NonNullable<OrderState['customer']> {
  return { id, name: state.name, phone: state.phone ?? null, document: state.document ?? null };
}

type Payment = NonNullable<OrderState['payments']>[number];

/** Above this much (in cents) people carry notes of a hundred, below it tens. */
const LARGE = 10_000;

/** One payment, now and then two: a voucher and the rest. */
export function orderPayments(chance: Chance, type: OrderType, total: number): Payment[] {
  if (total > 3_000 && happens(chance, 5)) {
    const voucher = chance.number.int({ min: 10, max: Math.floor(total / 100) - 1 }) * 100;
    return [
      { method: 'voucher', type: 'prepaid', amount: money(voucher), change_for: null },
      { method: 'pix', type: 'prepaid', amount: money(total - voucher), change_for: null },
    ];
  }
  const method = chance.helpers.weightedArrayElement([
    { weight: 45, value: 'pix' as const },
    { weight: 30, value: 'credit' as const },
    { weight: 14, value: 'debit' as const },
    { weight: 10, value: 'cash' as const },
    { weight: 1, value: 'other' as const },
  ]);
  const prepaid = type !== 'indoor' && (method === 'pix' || (method === 'credit' && happens(chance, 70)));
  return [
    {
      method,
      type: prepaid ? 'prepaid' : 'on_delivery',
      amount: money(total),
      change_for: method === 'cash' && happens(chance, 70) ? money(nextNotes(total)) : null,
    },
  ];
}

function nextNotes(total: number): number {
  const note = total > LARGE ? 5_000 : 1_000;
  return Math.ceil((total + 1) / note) * note;
}
