/**
 * Makes orders with items, customer, prices and payments; their states from `pending` to the end;
 * and their reviews.
 */
import type { EntityStates } from '#shared/events/entities.ts';
import type { SimulatedCustomer, SimulatedStore } from './store.ts';
import { COUPONS, MOODS, type Menu } from './menu.ts';
import {
  eventOf,
  type SimulatedEvent,
  type Chance,
  happens,
  pick,
  sometimes,
  cents,
  instant,
  MINUTE,
  money,
  percentOf,
} from './random.ts';

type OrderState = EntityStates['order'];
type Status = OrderState['status'];
type OrderType = OrderState['order_type'];
type Item = NonNullable<OrderState['items']>[number];

export interface SimulatedOrder {
  id: string;
  /**
   * The statuses in order, from `pending` to the final one; `after` in milliseconds since the order
   * was placed.
   */
  journey: { status: Status; after: number }[];
  /** The fields that no status changes. */
  placed: Omit<OrderState, 'status' | 'status_history' | 'cancellation' | 'updated_at'>;
}

const JOURNEYS: Readonly<Record<OrderType, readonly Status[]>> = {
  delivery: ['confirmed', 'preparing', 'ready', 'dispatched', 'delivered', 'concluded'],
  takeout: ['confirmed', 'preparing', 'ready', 'concluded'],
  indoor: ['confirmed', 'preparing', 'ready', 'delivered', 'concluded'],
};
const MAX_MINUTES = [4, 3, 30, 8, 35, 20];
const TYPES = [
  'indoor',
  'takeout',
  'takeout',
  'delivery',
  'delivery',
  'delivery',
  'delivery',
] as const;
const CANCELLED_PERCENT = 7;
const REASONS = ['Cliente desistiu do pedido', 'Item em falta', 'Endereço não localizado'];
const NOTES = ['Tocar o interfone', 'Deixar na portaria', 'Sem talheres', 'É para presente'];

/**
 * A new order of the customer. `number` counts the store's orders; `display_id` shows its last four
 * digits.
 */
export function placeOrder(
  chance: Chance,
  store: SimulatedStore,
  { id: customerId, state: { name, phone = null, document = null, addresses } }: SimulatedCustomer,
  { id, number, at }: { id: string; number: number; at: number },
): SimulatedOrder {
  const type = pick(chance, store.cuisine.indoor ? TYPES : TYPES.slice(1));
  const channel =
    type === 'indoor' ? 'counter' : pick(chance, ['app', 'app', 'site', 'whatsapp', 'phone']);
  const { items, subtotal } = orderItems(chance, store);
  const deliveryFee = type === 'delivery' ? pick(chance, [0, 500, 600, 800]) : 0;
  const serviceFee = type === 'indoor' ? percentOf(subtotal, 10) : channel === 'app' ? 99 : 0;
  const { coupon, discount } = redeemed(chance, type, subtotal, deliveryFee);
  const total = subtotal + deliveryFee + serviceFee - discount;
  const arrival = instant(at + chance.number.int({ min: 30, max: 60 }) * MINUTE);
  const delivery = {
    address: addresses?.[0] ?? null,
    fee: money(deliveryFee),
    estimated_at: arrival,
  };
  const method = pick(chance, ['pix', 'pix', 'pix', 'credit', 'debit', 'cash', 'voucher'] as const);
  const isPrepaid = type !== 'indoor' && ['pix', 'credit', 'voucher'].includes(method);
  return {
    id,
    journey: orderJourney(chance, type),
    placed: {
      display_id: String(number % 10_000).padStart(4, '0'),
      order_type: type,
      sales_channel: channel,
      customer:
        type === 'indoor' && happens(chance, 60) ? null : { id: customerId, name, phone, document },
      subtotal: money(subtotal),
      delivery_fee: money(deliveryFee),
      service_fee: money(serviceFee),
      discount: money(discount),
      total: money(total),
      scheduled_for: type === 'indoor' ? null : sometimes(chance, 4, () => arrival),
      items,
      delivery: type === 'delivery' ? delivery : null,
      payments: [{ method, type: isPrepaid ? 'prepaid' : 'on_delivery', amount: money(total) }],
      coupon,
      notes: sometimes(chance, 12, () => pick(chance, NOTES)),
      created_at: instant(at),
    },
  };
}

function orderJourney(chance: Chance, type: OrderType): SimulatedOrder['journey'] {
  const steps: SimulatedOrder['journey'] = [{ status: 'pending', after: 0 }];
  let after = 0;
  const cancelledAt = happens(chance, CANCELLED_PERCENT) ? chance.number.int({ max: 3 }) : -1;
  for (const [place, status] of JOURNEYS[type].entries()) {
    const max = MAX_MINUTES[place] ?? 1;
    after += Math.round(chance.number.float({ min: max / 8, max }) * MINUTE);
    steps.push({ status: place === cancelledAt ? 'cancelled' : status, after });
    if (place === cancelledAt) break;
  }
  return steps;
}

/** The order's state after as many steps as there are times. */
export function orderState(
  { id, journey, placed }: SimulatedOrder,
  times: readonly number[],
): OrderState {
  const steps = journey
    .slice(0, times.length)
    .map(({ status }, index) => ({ status, at: instant(times[index] ?? 0) }));
  const { status, at } = steps.at(-1) ?? { status: 'pending' as const, at: placed.created_at };
  const reason = REASONS[id.length % REASONS.length] ?? null;
  const cancellation = status === 'cancelled' ? { reason, at } : null;
  return { ...placed, status, status_history: steps, cancellation, updated_at: at };
}

/** Items and the sum of their totals in cents, at least the store's minimum order. */
function orderItems(
  chance: Chance,
  { menu, cuisine }: SimulatedStore,
): { items: Item[]; subtotal: number } {
  const items: Item[] = [];
  const onSale = [...menu.products].filter(
    ([, { active, category_id: category }]) =>
      active && menu.categories.get(category ?? '')?.active,
  );
  const wanted = pick(chance, [1, 1, 2, 2, 3, 4]);
  let subtotal = 0;
  while (items.length < wanted || subtotal < cuisine.minimumOrder) {
    const item = { id: `i${items.length + 1}`, ...orderItem(chance, menu, pick(chance, onSale)) };
    items.push(item);
    subtotal += cents(item.total);
  }
  return { items, subtotal };
}

function orderItem(
  chance: Chance,
  { optionGroups }: Menu,
  [product_id, product]: [string, EntityStates['product']],
): Item {
  const quantity = happens(chance, 20) ? chance.number.int({ min: 2, max: 4 }) : 1;
  let unitPrice = cents(product.promotional_price ?? product.price);
  let optionPrice = 0;
  const options: NonNullable<Item['options']> = [];
  for (const option_group_id of product.option_group_ids ?? []) {
    const group = optionGroups.get(option_group_id);
    if (group === undefined) continue;
    const active = group.options.filter((option) => option.active);
    const max = Math.min(group.max, active.length, group.min + 1);
    const chosen = chance.helpers.arrayElements(active, { min: group.min, max });
    const prices = chosen.map(({ price }) => cents(price));
    const sum = prices.reduce((total, price) => total + price, 0);
    const isSummed = group.price_method === 'sum';
    // Half-and-half: the dish has one price for both halves, and each half costs zero.
    if (isSummed) optionPrice += sum;
    else if (group.price_method === 'max') unitPrice += Math.max(0, ...prices);
    else unitPrice += Math.round(sum / Math.max(1, prices.length));
    for (const { id: option_id, name, price } of chosen) {
      const unit_price = isSummed ? price : money(0);
      options.push({ option_group_id, option_id, name, quantity: 1, unit_price });
    }
  }
  return {
    product_id,
    name: product.name,
    quantity,
    unit_price: money(unitPrice),
    options,
    total: money(quantity * (unitPrice + optionPrice)),
  };
}

const REVIEWED_PERCENT = 35;
/** Happy and angry customers write more often than the others. */
const RATINGS = [5, 5, 5, 5, 5, 5, 5, 4, 4, 3, 2, 1, 1];

/** The review that the customer of a concluded order writes at `at`; `null` if there is none. */
export function review(
  chance: Chance,
  store: SimulatedStore,
  { id: orderId, journey, placed: { customer } }: SimulatedOrder,
  at: number,
): SimulatedEvent | null {
  const isConcluded = journey.at(-1)?.status === 'concluded';
  if (!isConcluded || !customer || !happens(chance, REVIEWED_PERCENT)) return null;
  const rating = pick(chance, RATINGS);
  const mood = MOODS[rating > 3 ? 'glad' : rating === 3 ? 'lukewarm' : 'angry'];
  const reply = sometimes(chance, mood.replied, () => pick(chance, mood.replies));
  const created_at = instant(at);
  return eventOf(store, 'review', `r-${orderId}`, {
    order_id: orderId,
    customer_id: customer.id,
    customer_name: customer.name ?? null,
    rating,
    comment: sometimes(chance, 100 - mood.silent, () => pick(chance, mood.comments)),
    reply,
    replied_at: reply && created_at,
    created_at,
  });
}

/** The coupon that an order names, if any, and its discount in cents. */
function redeemed(chance: Chance, type: OrderType, subtotal: number, deliveryFee: number) {
  const usable = COUPONS.filter(
    ({ days: { from, to }, order_types: types, minimum_order_value: minimum }) => {
      const isCurrent = from < 0 && (to === null || to > 0);
      return isCurrent && types?.includes(type) === true && subtotal >= cents(minimum ?? '0');
    },
  );
  if (usable.length === 0 || !happens(chance, 18)) return { coupon: null, discount: 0 };
  const {
    id,
    code,
    discount_type: kind,
    discount_value: value,
    maximum_discount: most,
  } = pick(chance, usable);
  const cut = kind === 'fixed' ? cents(value) : percentOf(subtotal, cents(value) / 100);
  const discount = kind === 'free_delivery' ? deliveryFee : Math.min(cut, cents(most ?? value));
  return { coupon: discount > 0 ? { id, code } : null, discount };
}
