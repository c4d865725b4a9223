/**
 * Random streams of changes: entities are created, changed, deleted and restored, in and out of
 * order.
 */
import fc from 'fast-check';
import { ORDER_STATUSES } from '#shared/records/order.ts';
import { ORDER_TYPES } from '#shared/records/store.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { COMPLETE_STATES } from './complete-states.ts';
import type { TestEvent } from './events.ts';

export type StreamEvent = TestEvent;

// Some ids are names of properties that every JavaScript object has.
export const STREAM_STORES = ['s1', 's2', '__proto__'];
/** The ids in streams, by entity. */
export const STREAM_IDS = {
  store: [],
  order: ['__proto__', ...numbered('o', 11)],
  coupon: ['toString', ...numbered('n', 2)],
  review: ['__proto__', ...numbered('r', 4)],
  campaign: ['constructor', ...numbered('m', 2)],
  category: ['__proto__', ...numbered('k', 3)],
  product: numbered('p', 10),
  option_group: ['constructor', ...numbered('g', 2)],
  customer: ['c1', 'c2', 'c3', 'C_4', 'c-5', 'constructor'],
} satisfies Record<EntityName, string[]>;

function numbered(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
}

const NAMES = [
  ...`José da Silva|jose da silva|Ana|Łukasz|ANA MARIA|Ângela|Zé|Émile||𝒜lgebra|ﬁlho|.*|O'Neil (2)| Ana|Ωmega Σας`.split(
    '|',
  ),
  // Hard cases of folding and sorting: dotted capital I, sharp s, Hangul, two orders of marks, line
  // breaks, quotes, joiners.
  ...'İstanbul|Straße|한글|a\u0323\u0307b|a\u0307\u0323b|a\u2028"b\\c"\u0001|👩‍👩‍👧 Silva|\uffffz'.split(
    '|',
  ),
];
// Texts at which the query service splits stored bodies.
const BODY_PARTS = [
  ',"customer":',
  '"},"item_count":9',
  ',"items":[',
  '\\",\\"items\\":',
  '",',
  ',',
];
const DOCUMENTS = ['123.456.789-09', '12.ABC.345/01DE-35', '98765432100', ''];
const PHONES = ['+55 11 98765-4321', '(62) 3333-4444', '11987654321', ''];

/**
 * Few instants, so that equal and adjacent ones are common; with and without fractions of a second.
 */
const instant = fc
  .record({
    day: fc.integer({ min: 1, max: 4 }),
    second: fc.integer({ min: 0, max: 3 }),
    fraction: fc.constantFrom('', '.5', '.999'),
  })
  .map(({ day, second, fraction }) => `2026-03-0${day}T02:59:5${second + 6}${fraction}Z`);
const money = fc.integer({ min: 0, max: 99_999 }).map((cents) => (cents / 100).toFixed(2));
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 4 });
const times = { created_at: instant, updated_at: nullable(instant) };
const perhapsTimes = { ...times, created_at: nullable(instant) };

const storeState = fc.record({
  name: fc.constantFrom('Pizzaria Bela', 'Açaí da Praça'),
  timezone_offset: fc.constantFrom('-03:00', '-04:00', '-02:00', '+05:30'),
  status: fc.constantFrom('active', null),
  ...times,
});

const customerState = fc.record({
  name: fc.constantFrom(...NAMES),
  document: nullable(fc.constantFrom(...DOCUMENTS)),
  phone: nullable(fc.constantFrom(...PHONES)),
  accepts_marketing: nullable(fc.boolean()),
  ...times,
});

const orderState = fc.record({
  display_id: nullable(fc.constantFrom('#1', '#2', ...BODY_PARTS)),
  sales_channel: nullable(fc.constantFrom('app', ...BODY_PARTS)),
  notes: nullable(fc.constantFrom('', ...BODY_PARTS)),
  status: fc.constantFrom(...ORDER_STATUSES),
  order_type: fc.constantFrom(...ORDER_TYPES),
  customer: nullable(
    fc.record({
      id: fc.constantFrom(...STREAM_IDS.customer),
      name: nullable(fc.constantFrom(...NAMES, ...BODY_PARTS)),
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
    fc.array(fc.record({ status: fc.constantFrom(...ORDER_STATUSES), at: instant }), {
      maxLength: 2,
    }),
  ),
  ...times,
});

const couponState = fc.record({
  code: fc.constantFrom('BEMVINDO', 'FRETE'),
  discount_type: fc.constantFrom('percentage', 'fixed', 'free_delivery'),
  discount_value: money,
  active: fc.boolean(),
  starts_at: nullable(instant),
  usage_limit: nullable(fc.nat({ max: 100 })),
  ...times,
});

const reviewState = fc.record({
  order_id: nullable(fc.constantFrom(...STREAM_IDS.order)),
  customer_id: nullable(fc.constantFrom(...STREAM_IDS.customer)),
  customer_name: nullable(fc.constantFrom(...NAMES)),
  rating: fc.integer({ min: 1, max: 5 }),
  comment: nullable(fc.constantFrom('Ótimo!', '')),
  replied_at: nullable(instant),
  created_at: instant,
});

const campaignState = fc.record({
  name: fc.constantFrom('Volta às aulas', 'Natal'),
  channel: fc.constantFrom('whatsapp', 'sms', 'email', 'push'),
  status: fc.constantFrom('draft', 'scheduled', 'running', 'finished', 'cancelled'),
  sent_count: nullable(fc.nat({ max: 100 })),
  ...times,
});
const position = fc.integer({ min: 0, max: 2 });

const categoryState = fc.record({
  name: fc.constantFrom('Pizzas', 'Ápices', 'bebidas', 'Bebidas'),
  position,
  active: fc.nat({ max: 3 }).map((n) => n > 0),
  ...perhapsTimes,
});

const productState = fc.record({
  category_id: nullable(fc.constantFrom(...STREAM_IDS.category, 'nowhere')),
  name: fc.constantFrom('Calabresa', 'Água', 'agua', 'Guaraná'),
  price: money,
  promotional_price: nullable(money),
  active: fc.nat({ max: 3 }).map((n) => n > 0),
  position,
  ean: nullable(fc.constantFrom('789')),
  serves: nullable(fc.integer({ min: 1, max: 4 })),
  option_group_ids: nullable(
    fc.uniqueArray(fc.constantFrom(...STREAM_IDS.option_group, 'missing'), { maxLength: 3 }),
  ),
  ...perhapsTimes,
});

const optionGroupState = fc.record({
  name: fc.constantFrom('Borda', 'borda', 'Ânimo'),
  min: fc.nat({ max: 1 }),
  max: fc.integer({ min: 1, max: 3 }),
  price_method: nullable(fc.constantFrom('sum', 'max', 'average')),
  options: fc.uniqueArray(
    fc.record({
      id: fc.constantFrom('a', 'b', 'c'),
      name: fc.constantFrom('Catupiry', 'Cheddar'),
      price: money,
      active: nullable(fc.boolean()),
      position: nullable(position),
    }),
    { maxLength: 3, selector: ({ id }) => id },
  ),
});

const sequence = fc.integer({ min: 0, max: 12 });
const storeId = fc.constantFrom(...STREAM_STORES);

/**
 * Many events also carry the fields that no state above names. Of a few, all fields are those
 * of the complete state, so that questions find its texts in fields that a state above names.
 */
function changes(entity: EntityName, state: fc.Arbitrary<object>): fc.Arbitrary<StreamEvent> {
  return fc
    .record({
      storeId,
      id: fc.constantFrom(...(entity === 'store' ? [null] : STREAM_IDS[entity])),
      sequence,
      state,
      completeness: fc.constantFrom('none', 'none', 'rest', 'rest', 'all'),
      time: instant,
      deletes: fc.nat({ max: 5 }).map((n) => n === 0),
    })
    .map(({ storeId: store, id, sequence: version, state, completeness, time, deletes }) => ({
      entity,
      storeId: store,
      subject: id ?? store,
      sequence: version,
      time: new Date(time),
      action: deletes ? ('deleted' as const) : ('changed' as const),
      ...(deletes
        ? {}
        : {
            data: {
              ...(completeness === 'none' ? {} : COMPLETE_STATES[entity]),
              ...(completeness === 'all' ? {} : state),
            },
          }),
    }));
}

const of = (weight: number, entity: EntityName, state: fc.Arbitrary<object>) => ({
  weight,
  arbitrary: changes(entity, state),
});

const event = fc.oneof(
  of(1, 'store', storeState),
  of(4, 'customer', customerState),
  of(8, 'order', orderState),
  of(2, 'coupon', couponState),
  of(3, 'review', reviewState),
  of(2, 'campaign', campaignState),
  of(3, 'category', categoryState),
  of(6, 'product', productState),
  of(3, 'option_group', optionGroupState),
);

/** A stream with some repeated events. */
export const stream: fc.Arbitrary<StreamEvent[]> = fc
  .array(fc.record({ event, twice: fc.nat({ max: 9 }) }), { minLength: 200, maxLength: 500 })
  .map((entries) => entries.flatMap(({ event: one, twice }) => (twice === 0 ? [one, one] : [one])));
