import { describe, expect, it } from 'vitest';
import { eventsMarkdown } from '#admin/documents/events.ts';
import { AccessKeyData, readAccessChange, StoreAccessData } from '#shared/events/access-event.ts';
import { readChange } from '#shared/events/change.ts';
import { describeFields } from '#shared/events/describe-fields.ts';
import { ENTITY_NAMES, entitySchemas } from '#shared/events/entities/index.ts';
import { exampleEvent } from '#shared/events/examples.ts';
import { expectUpToDate } from './made-section.ts';

const message = (event: object) => ({ key: Buffer.from('s1'), value: Buffer.from(JSON.stringify(event)) });

/** Names of all fields of a value, as `describeFields` spells them. */
function fieldsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => fieldsOf(entry, path.replace(/\.$/, '[].')));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    path + name,
    ...fieldsOf(inner, `${path}${name}.`),
  ]);
}

describe('docs/events.md', () => {
  it('says what the schemas say: npm run documents writes it anew', async () => {
    await expectUpToDate('docs/events.md', 'fields', eventsMarkdown());
  });

  it.each(ENTITY_NAMES)('has an example of %s that the projector takes, with every field', (entity) => {
    const event = exampleEvent(entity);
    expect(readChange(message(event))).toMatchObject({ entity, id: event.subject, storeId: 's1' });
    const shown = fieldsOf(event.data);
    const described = describeFields(entitySchemas[entity]).map(({ name }) => name);
    const isEmptyObject = (name: string) => name.startsWith('cancellation.');
    expect(described.filter((name) => !shown.includes(name) && !isEmptyObject(name))).toEqual([]);
  });

  it('requires what rule R12.3 requires, and nothing else', () => {
    const required = ENTITY_NAMES.map((entity) => [
      entity,
      describeFields(entitySchemas[entity])
        .filter(({ isRequired }) => isRequired)
        .map(({ name }) => name),
    ]);
    expect(Object.fromEntries(required)).toEqual({
      store: ['name', 'timezone_offset', 'created_at'],
      coupon: ['code', 'discount_type', 'discount_value', 'active', 'created_at'],
      customer: ['name', 'created_at'],
      review: ['rating', 'created_at'],
      campaign: ['name', 'channel', 'status', 'created_at'],
      order: [
        'status',
        'order_type',
        'customer.id',
        'total',
        'items[].product_id',
        'items[].name',
        'items[].quantity',
        'items[].unit_price',
        'items[].total',
        'created_at',
      ],
      category: ['name', 'position', 'active'],
      product: ['name', 'price', 'active', 'position'],
      option_group: ['name', 'min', 'max', 'options', 'options[].id', 'options[].name', 'options[].price'],
    });
  });

  it.each([
    ['access_key', AccessKeyData],
    ['store_access', StoreAccessData],
  ] as const)('has an example of %s that the projector takes, with every field', (kind, schema) => {
    const event = exampleEvent(kind);
    expect(readAccessChange(message(event))).toMatchObject({ kind, storeId: 's1' });
    expect(describeFields(schema).map(({ name }) => name)).toEqual(Object.keys(event.data));
  });
});
