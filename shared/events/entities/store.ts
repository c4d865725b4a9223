/** The state of a store, as `store-data.store.changed` carries it (rules R9.3, R12.3). */
import { Type } from 'typebox';
import { LIST_BOUNDS } from '../bounds.ts';
import { absent, Address, ClockTime, Instant, listOf, Money, Name, Text, TimezoneOffset } from '../fields.ts';
import { OrderType } from './order.ts';

export const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const;

export const StoreState = Type.Object({
  name: Name,
  legal_name: absent(Name),
  document: absent(Text),
  phone: absent(Text),
  email: absent(Text),
  status: absent(Type.Enum(['active', 'blocked']), 'active'),
  timezone_offset: TimezoneOffset,
  currency: absent(Type.Literal('BRL'), 'BRL'),
  order_types: absent(listOf(OrderType, LIST_BOUNDS.order_types)),
  minimum_order_value: absent(Money),
  address: absent(Address),
  opening_hours: absent(
    listOf(
      Type.Object({
        weekday: absent(Type.Enum([...WEEKDAYS])),
        opens: absent(ClockTime),
        closes: absent(ClockTime),
      }),
      LIST_BOUNDS.opening_hours,
    ),
  ),
  created_at: Instant,
  updated_at: absent(Instant),
});
export type StoreState = Type.Static<typeof StoreState>;
