/** Random streams of changes: entities created, changed, deleted and brought back, in and out of order, again and again. */
import fc from 'fast-check';
import type { EventToEncode } from '#shared/events/encode.ts';
import { ORDER_STATUSES, ORDER_TYPES } from '#shared/events/entities/order.ts';

export type StreamEvent = Omit<EventToEncode, 'source'>;

/** The stores of every stream. */
export const STREAM_STORES = ['s1', 's2', 'S-3'];
const CUSTOMERS = ['c1', 'c2', 'c3', 'C_4', 'c-5', 'c6'];
const ORDERS = Array.from({ length: 12 }, (_, index) => `o${index + 1}`);

const NAMES = [
  'José da Silva',
  'jose da silva',
  'Ana',
  'ANA MARIA',
  'Ângela',
  'Zé',
  'Émile',
  '',
  '𝒜lgebra',
  'ﬁlho',
  '.*',
  "O'Neil (2)",
];
const DOCUMENTS = ['123.456.789-09', '12.ABC.345/01DE-35', '98765432100', ''];
const PHONES = ['+55 11 98765-4321', '(62) 3333-4444', '11987654321', ''];

/** Few instants, so that equal and neighbouring ones are common; fractions on both sides of a second. */
const instant = fc
  .record({
    day: fc.integer({ min: 1, max: 4 }),
    second: fc.integer({ min: 0, max: 3 }),
    fraction: fc.constantFrom('', '.5', '.999'),
  })
  .map(({ day, second, fraction }) => `2026-03-0${day}T02:59:5${second + 6}${fraction}Z`);
const money = fc.integer({ min: 0, max: 99_999 }).map((cents) => (cents / 100).toFixed(2));
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 4 });

const storeState = fc.record({
  name: fc.constantFrom('Pizzaria Bela', 'Açaí da Praça'),
  timezone_offset: fc.constantFrom('-03:00', '-04:00', '-02:00', '+05:30'),
  status: fc.constantFrom('active', null),
  created_at: instant,
  updated_at: nullable(instant),
});

const customerState = fc.record({
  name: fc.constantFrom(...NAMES),
  document: nullable(fc.constantFrom(...DOCUMENTS)),
  phone: nullable(fc.constantFrom(...PHONES)),
  accepts_marketing: nullable(fc.boolean()),
  created_at: instant,
  updated_at: nullable(instant),
});

const orderState = fc.record({
  display_id: nullable(fc.constantFrom('#1', '#2')),
  status: fc.constantFrom(...ORDER_STATUSES),
  order_type: fc.constantFrom(...ORDER_TYPES),
  customer: nullable(
    fc.record({
      id: fc.constantFrom(...CUSTOMERS),
      name: nullable(fc.constantFrom(...NAMES)),
      phone: nullable(fc.constantFrom(...PHONES)),
      document: nullable(fc.constantFrom(...DOCUMENTS)),
    }),
  ),
  total: money,
  delivery_fee: nullable(money),
  scheduled_for: nullable(instant),
  items: nullable(
    fc.array(
      fc.record({
        product_id: fc.constant('p1'),
        name: fc.constant('Pizza'),
        quantity: fc.integer({ min: 1, max: 5 }),
        unit_price: money,
        total: money,
      }),
      { maxLength: 3 },
    ),
  ),
  status_history: nullable(
    fc.array(fc.record({ status: fc.constantFrom(...ORDER_STATUSES), at: instant }), { maxLength: 2 }),
  ),
  created_at: instant,
  updated_at: nullable(instant),
});

const sequence = fc.integer({ min: 0, max: 12 });
const storeId = fc.constantFrom(...STREAM_STORES);

function changes(
  entity: string,
  subject: fc.Arbitrary<string> | null,
  state: fc.Arbitrary<object>,
): fc.Arbitrary<StreamEvent> {
  return fc
    .record({
      storeId,
      id: subject ?? fc.constant(null),
      sequence,
      state,
      deletes: fc.nat({ max: 5 }).map((n) => n === 0),
    })
    .map(({ storeId: store, id, sequence: version, state: data, deletes }) => ({
      entity,
      storeId: store,
      subject: id ?? store,
      sequence: version,
      action: deletes ? ('deleted' as const) : ('changed' as const),
      ...(deletes ? {} : { data }),
    }));
}

const event = fc.oneof(
  { weight: 1, arbitrary: changes('store', null, storeState) },
  { weight: 4, arbitrary: changes('customer', fc.constantFrom(...CUSTOMERS), customerState) },
  { weight: 8, arbitrary: changes('order', fc.constantFrom(...ORDERS), orderState) },
);

/** A stream in which some events come twice. */
export const stream: fc.Arbitrary<StreamEvent[]> = fc
  .array(fc.record({ event, twice: fc.nat({ max: 9 }) }), { minLength: 150, maxLength: 400 })
  .map((entries) => entries.flatMap(({ event: one, twice }) => (twice === 0 ? [one, one] : [one])));
