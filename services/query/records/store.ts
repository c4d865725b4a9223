/** The store's own record (rule R9.3). */
import { Type } from 'typebox';
import { WEEKDAYS } from '#shared/events/entities/store.ts';
import examples from './examples.json' with { type: 'json' };
import {
  Address,
  as,
  ClockTime,
  Id,
  LocalDateTime,
  Money,
  nullable,
  part,
  record,
  Text,
  TimezoneOffset,
  words,
} from './fields.ts';
import { OrderType } from './order.ts';

const OpeningHours = part('OpeningHours', 'One span of opening hours. A day may have several, or none.', {
  weekday: nullable(words('Weekday', WEEKDAYS, 'A day of the week.')),
  opens: nullable(ClockTime, 'Local store time, `HH:MM`.'),
  closes: nullable(ClockTime, 'Local store time, `HH:MM`; `24:00` is the end of the day.'),
});

export const StoreInfo = record(
  'StoreInfo',
  'The store that the key belongs to.',
  {
    id: Id,
    name: as(Text, 'The name that customers know.'),
    legal_name: nullable(Text, 'The registered name (razão social).'),
    document: nullable(Text, 'The CNPJ or CPF, as the store writes it.'),
    phone: nullable(Text),
    email: nullable(Text),
    status: words('StoreStatus', ['active', 'blocked'], 'Tokens of a blocked store are refused.'),
    timezone_offset: as(TimezoneOffset, 'Append it to any date-time of this store to get the instant.'),
    currency: as(Type.Literal('BRL'), 'The currency of every amount.'),
    order_types: Type.Array(OrderType, { description: 'The ways in which orders can be placed.' }),
    minimum_order_value: nullable(Money, 'The least that an order must come to.'),
    address: nullable(Address),
    opening_hours: Type.Array(OpeningHours),
    created_at: LocalDateTime,
    updated_at: LocalDateTime,
  },
  examples.store,
);
