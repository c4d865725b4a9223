/** How an order is paid: payments that add up to its total. */
import type { OrderState } from '#shared/events/entities/order.ts';
import { money } from '../money.ts';
import { type Chance, happens } from '../random.ts';
import type { OrderType } from './order-journey.ts';

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
