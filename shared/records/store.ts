/** A store (rule R9.3), and what other records have of it: order types and addresses (R9.15). */
import { Type } from 'typebox';
import { recordComponent } from './components.ts';
import {
  coordinate,
  instant,
  kind,
  listOf,
  money,
  name,
  offset,
  oneOf,
  partOf,
  prose,
  text,
  timeOfDay,
  updatedAt,
} from './field.ts';
import { describeRecord } from './record.ts';

export const ORDER_TYPES = ['delivery', 'takeout', 'indoor'] as const;
export const orderType = oneOf(
  'OrderType',
  ORDER_TYPES,
  '`delivery`: brought to the customer. `takeout`: fetched by the customer. `indoor`: eaten in the store.',
);

export const address = partOf(
  'Address',
  'A postal address in Brazil; each field is `null` if it is not known.',
  {
    street: text.optional(),
    number: text.optional(),
    complement: text.optional(),
    district: text.optional('The neighbourhood (bairro).'),
    city: text.optional(),
    state: text.optional('As the store writes it, usually the two letters of the state.'),
    postal_code: text.optional('The CEP, as the store writes it.'),
    reference: prose.optional('A landmark for the courier.'),
    latitude: coordinate.optional(),
    longitude: coordinate.optional(),
  },
  'address',
);

export const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const;

const openingHours = partOf(
  'OpeningHours',
  'One span of opening hours. A day may have several, or none.',
  {
    weekday: oneOf('Weekday', WEEKDAYS, 'A day of the week.').optional(),
    opens: timeOfDay.optional('Local store time, `HH:MM`.'),
    closes: timeOfDay.optional('Local store time, `HH:MM`; `24:00` is the end of the day.'),
  },
);

const status = oneOf(
  'StoreStatus',
  ['active', 'blocked'],
  'Tokens of a blocked store are refused.',
);
const currency = kind(Type.Literal('BRL'), { type: 'string', const: 'BRL' });

export const store = describeRecord(
  {
    name: name.required('The name that customers know.'),
    legal_name: name.optional('The registered name (razão social).'),
    document: text.optional('The CNPJ or CPF, as the store writes it.'),
    phone: text.optional(),
    email: text.optional(),
    status: status.or('active'),
    timezone_offset: offset.required(
      'Append it to any date-time of this store to get the instant.',
    ),
    currency: currency.or('BRL', 'The currency of every amount.'),
    order_types: listOf(orderType, 10).optional('The ways in which orders can be placed.'),
    minimum_order_value: money.optional('The minimum total of an order.'),
    address: address.optional(),
    opening_hours: listOf(openingHours, 50).optional(),
    created_at: instant.required(),
    updated_at: updatedAt(),
  },
  {},
);

export const StoreInfo = recordComponent(
  'StoreInfo',
  'The store that the key belongs to.',
  store,
  'store',
);
