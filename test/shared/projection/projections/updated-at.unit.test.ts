import { describe, expect, it } from 'vitest';
import { readChange } from '#shared/events/change.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { documentOf } from '#shared/projection/projections/index.ts';

const CREATED = '2026-01-01T12:00:00.000Z';
const HAPPENED = '2026-02-02T12:00:00.000Z';
const UPDATED = '2026-03-03T12:00:00.000Z';

/** The least that each entity with an `updated_at` needs. */
const STATES = {
  store: { name: 'Loja', timezone_offset: '+00:00', created_at: CREATED },
  coupon: {
    code: 'FRETE',
    discount_type: 'fixed',
    discount_value: '1.00',
    active: true,
    created_at: CREATED,
  },
  customer: { name: 'Ana', created_at: CREATED },
  campaign: { name: 'Natal', channel: 'sms', status: 'draft', created_at: CREATED },
  order: { status: 'pending', order_type: 'delivery', total: '1.00', created_at: CREATED },
  category: { name: 'Pizzas', position: 0, active: true, created_at: CREATED },
  product: { name: 'Calabresa', price: '1.00', position: 0, active: true, created_at: CREATED },
} as const satisfies Partial<Record<EntityName, object>>;

function project(entity: keyof typeof STATES, updated: object) {
  const { key, value } = encodeEvent({
    entity,
    storeId: 's1',
    subject: entity === 'store' ? 's1' : 'x1',
    sequence: 1,
    source: '/test',
    time: new Date(HAPPENED),
    data: { ...STATES[entity], ...updated },
  });
  const change = readChange({ key: Buffer.from(key), value: Buffer.from(value) });
  return documentOf(change, { offset: '+00:00', customerErased: false });
}

describe('when a record was updated', () => {
  it.each(Object.keys(STATES) as (keyof typeof STATES)[])('is what the event of a %s says', (entity) => {
    expect(JSON.stringify(project(entity, { updated_at: UPDATED }))).toContain('2026-03-03T12:00:00');
  });

  it.each(Object.keys(STATES) as (keyof typeof STATES)[])(
    'is the time of the event where a %s does not say it, never its creation',
    (entity) => {
      for (const absent of [{}, { updated_at: null }]) {
        const document = project(entity, absent);
        expect(JSON.stringify(document)).toContain('\\"updated_at\\":\\"2026-02-02T12:00:00\\"');
        if ('updated_at' in document) expect(document.updated_at).toEqual(new Date(HAPPENED));
      }
    },
  );
});
