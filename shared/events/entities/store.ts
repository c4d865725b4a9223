/** The state of a store, as `store-data.store.changed` carries it (CONTRACT sections 2 and 3). */
import { Type } from 'typebox';
import { absent, Address, ClockTime, Instant, Money, Text, TimezoneOffset } from '../fields.ts';
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
  name: Text,
  legal_name: absent(Text),
  document: absent(Text),
  phone: absent(Text),
  email: absent(Text),
  status: absent(Type.Enum(['active', 'blocked'])),
  timezone_offset: TimezoneOffset,
  currency: absent(Type.Literal('BRL')),
  order_types: absent(Type.Array(OrderType)),
  minimum_order_value: absent(Money),
  address: absent(Address),
  opening_hours: absent(
    Type.Array(
      Type.Object({ weekday: Type.Enum([...WEEKDAYS]), opens: absent(ClockTime), closes: absent(ClockTime) }),
    ),
  ),
  created_at: Instant,
  updated_at: absent(Instant),
});
export type StoreState = Type.Static<typeof StoreState>;
