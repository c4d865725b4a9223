/**
 * Random streams of changes: entities are created, changed, deleted and restored, in and out of
 * order.
 */
import fc from 'fast-check';
import { Type, type TSchema } from 'typebox';
import { ENTITY_NAMES, type EntityName, entitySchemas } from '#shared/events/entities.ts';
import { type Described, TEXT, valueOf } from './complete-states.ts';
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

type Values = fc.Arbitrary<unknown>;

/** The values of fields that its schema alone does not describe, by name. */
const FIELDS: Record<string, Values> = {
  name: fc.constantFrom(...NAMES, ...BODY_PARTS),
  customer_name: fc.constantFrom(...NAMES),
  document: fc.constantFrom(...DOCUMENTS),
  phone: fc.constantFrom(...PHONES),
  id: fc.constantFrom(...STREAM_IDS.customer),
  customer_id: fc.constantFrom(...STREAM_IDS.customer),
  order_id: fc.constantFrom(...STREAM_IDS.order),
  category_id: fc.constantFrom(...STREAM_IDS.category, 'nowhere'),
  option_group_ids: fc.uniqueArray(fc.constantFrom(...STREAM_IDS.option_group, 'missing'), {
    maxLength: 3,
  }),
  timezone_offset: fc.constantFrom('-03:00', '-04:00', '-02:00', '+05:30'),
  active: fc.nat({ max: 3 }).map((n) => n > 0),
};
/** The values of other strings, by the titles of their types. */
const STRINGS: Record<string, Values> = {
  text: fc.constantFrom(TEXT, TEXT, TEXT, '', ...BODY_PARTS),
  money: fc.integer({ min: 0, max: 99_999 }).map((cents) => (cents / 100).toFixed(2)),
  'date-time': instant,
};

function valuesOf(schema: TSchema, field = ''): Values {
  const { title = '', enum: words, minimum = 0, maximum = 9 } = schema as Described;
  if (Type.IsUnion(schema)) {
    return fc.option(valuesOf(schema.anyOf[0] ?? Type.Null(), field), { nil: null, freq: 4 });
  }
  if (FIELDS[field] !== undefined) return FIELDS[field];
  // Tokens of a blocked store are refused.
  if (words !== undefined) return fc.constantFrom(...words.filter((word) => word !== 'blocked'));
  if (Type.IsObject(schema)) {
    const fields = Object.entries(schema.properties);
    return fc.record(Object.fromEntries(fields.map(([name, one]) => [name, valuesOf(one, name)])), {
      requiredKeys: fields.flatMap(([name, one]) => (Type.IsOptional(one) ? [] : [name])),
    });
  }
  if (Type.IsArray(schema)) {
    const selector = (entry: unknown) => (entry as { id?: string }).id ?? entry;
    return fc.uniqueArray(valuesOf(schema.items), { maxLength: 3, selector });
  }
  if (Type.IsBoolean(schema)) return fc.boolean();
  if (Type.IsInteger(schema))
    return fc.integer({ min: minimum, max: Math.min(maximum, minimum + 4) });
  return STRINGS[title] ?? fc.constant(valueOf(schema));
}

/** Changes of an entity, and some deletions. */
function changes(entity: EntityName): fc.Arbitrary<StreamEvent> {
  return fc
    .record({
      storeId: fc.constantFrom(...STREAM_STORES),
      id: fc.constantFrom(...(entity === 'store' ? [null] : STREAM_IDS[entity])),
      sequence: fc.integer({ min: 0, max: 12 }),
      time: instant.map((text) => new Date(text)),
      data: fc.option(valuesOf(entitySchemas[entity]), { freq: 5 }),
    })
    .map(({ id, data, ...others }) => ({
      ...others,
      entity,
      subject: id ?? others.storeId,
      ...(data === null ? { action: 'deleted' } : { data }),
    }));
}

const event = fc.oneof(
  ...ENTITY_NAMES.map((entity) => ({
    weight: 1 + STREAM_IDS[entity].length,
    arbitrary: changes(entity),
  })),
);

/** A stream with some repeated events. */
export const stream: fc.Arbitrary<StreamEvent[]> = fc
  .array(fc.record({ event, twice: fc.nat({ max: 9 }) }), { minLength: 200, maxLength: 500 })
  .map((entries) => entries.flatMap(({ event: one, twice }) => (twice === 0 ? [one, one] : [one])));
