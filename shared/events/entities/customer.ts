/** The state of a customer, as `store-data.customer.changed` carries it (rules R9.5, R12.3). */
import { Type } from 'typebox';
import { LIST_BOUNDS } from '../bounds.ts';
import { absent, Address, CalendarDate, Flag, Instant, listOf, Name, Text } from '../fields.ts';

export const CustomerState = Type.Object({
  name: Name,
  document: absent(Text),
  phone: absent(Text),
  email: absent(Text),
  birth_date: absent(CalendarDate),
  accepts_marketing: absent(Flag, false),
  addresses: absent(listOf(Address, LIST_BOUNDS.addresses)),
  created_at: Instant,
  updated_at: absent(Instant),
});
export type CustomerState = Type.Static<typeof CustomerState>;
