/** What must be true of every event of the simulator, whichever part of it made it. */
import { expect } from 'vitest';
import { asMessage, type SimulatedEvent } from '#local/simulator/event.ts';
import { type ChangeTo, readChange } from '#shared/events/change.ts';
import type { OrderState } from '#shared/events/entities/order.ts';

/** Encodes the event and reads it as the projector does, which throws if it is none. */
export function throughReaders(event: SimulatedEvent): ReturnType<typeof readChange> {
  const { key, value, headers } = asMessage(event);
  const change = readChange({ key: Buffer.from(key), value: Buffer.from(value), headers });
  expect(change).toMatchObject({
    entity: event.entity,
    storeId: event.storeId,
    id: event.subject,
    sequence: event.sequence,
  });
  return change;
}

/** An amount as events carry it, in cents. */
export function cents(text: string | null | undefined): number {
  return Math.round(Number(text) * 100);
}

function sum<T>(items: readonly T[] | null | undefined, value: (item: T) => number): number {
  return (items ?? []).reduce((total, item) => total + value(item), 0);
}

/** An order's amounts agree to the cent, and its times follow one another. */
export function checkOrder({ state }: Pick<ChangeTo<'order'>, 'state'>): void {
  if (state === null) throw new Error('orders are not deleted');
  for (const item of state.items ?? []) {
    const options = sum(item.options, (option) => (option.quantity ?? 0) * cents(option.unit_price));
    expect(cents(item.total)).toBe(item.quantity * (cents(item.unit_price) + options));
  }
  expect(sum(state.items, (item) => cents(item.total))).toBe(cents(state.subtotal));
  expect(cents(state.total)).toBe(
    cents(state.subtotal) + cents(state.delivery_fee) + cents(state.service_fee) - cents(state.discount),
  );
  expect(sum(state.payments, (payment) => cents(payment.amount))).toBe(cents(state.total));
  for (const { amount, change_for } of state.payments ?? []) {
    expect(cents(amount)).toBeGreaterThan(0);
    if (change_for) expect(cents(change_for)).toBeGreaterThan(cents(amount));
  }
  expect(state.coupon === null).toBe(cents(state.discount) === 0);
  expect(state.delivery === null).toBe(state.order_type !== 'delivery');
  checkTimes(state);
}

function checkTimes(state: OrderState): void {
  const history = state.status_history ?? [];
  const times = history.map(({ at }) => Date.parse(at ?? ''));
  expect(history[0]).toEqual({ status: 'pending', at: state.created_at });
  expect(history.at(-1)).toEqual({ status: state.status, at: state.updated_at });
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(state.cancellation === null).toBe(state.status !== 'cancelled');
}
