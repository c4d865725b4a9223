/** The statuses an order passes through, and how long each takes in a real kitchen. */
import type { ORDER_STATUSES, ORDER_TYPES } from '#shared/events/entities/order.ts';
import { type Chance, happens, pick } from '../random.ts';

export type OrderStatus = (typeof ORDER_STATUSES)[number];
export type OrderType = (typeof ORDER_TYPES)[number];

export interface Step {
  status: OrderStatus;
  /** Milliseconds after the order was placed. */
  after: number;
}

export interface Journey {
  /** In order, `pending` first; the last one is final. */
  steps: Step[];
  /** Set where the last step is `cancelled`. */
  cancellationReason: string | null;
}

const MINUTE = 60_000;

/** From one status to the next: at least and at most so many minutes. */
const WAYS: Readonly<Record<OrderType, readonly (readonly [OrderStatus, number, number])[]>> = {
  delivery: [
    ['confirmed', 0.3, 4],
    ['preparing', 0.5, 3],
    ['ready', 10, 30],
    ['dispatched', 1, 8],
    ['delivered', 8, 35],
    ['concluded', 2, 20],
  ],
  takeout: [
    ['confirmed', 0.3, 4],
    ['preparing', 0.5, 3],
    ['ready', 8, 25],
    ['concluded', 2, 20],
  ],
  indoor: [
    ['confirmed', 0.1, 1],
    ['preparing', 0.2, 2],
    ['ready', 6, 20],
    ['delivered', 0.5, 3],
    ['concluded', 20, 60],
  ],
};

const CANCELLED_PERCENT = 7;

/** Who cancels, by how far the order is. */
const REASONS: Readonly<Partial<Record<OrderStatus, readonly string[]>>> = {
  pending: ['Cliente desistiu do pedido', 'Pagamento não aprovado', 'Loja não confirmou a tempo'],
  confirmed: ['Cliente desistiu do pedido', 'Item em falta'],
  preparing: ['Item em falta', 'Problema na cozinha'],
  dispatched: ['Endereço não localizado', 'Cliente ausente'],
};

/** The way of one order of this type. */
export function orderJourney(chance: Chance, type: OrderType): Journey {
  const steps: Step[] = [{ status: 'pending', after: 0 }];
  const cancelled = happens(chance, CANCELLED_PERCENT);
  let after = 0;
  for (const [status, least, most] of WAYS[type]) {
    after += Math.round(chance.number.float({ min: least, max: most }) * MINUTE);
    const reasons = REASONS[steps.at(-1)?.status ?? 'pending'];
    if (cancelled && reasons !== undefined && happens(chance, 45)) {
      steps.push({ status: 'cancelled', after });
      return { steps, cancellationReason: pick(chance, reasons) };
    }
    steps.push({ status, after });
  }
  return { steps, cancellationReason: null };
}
