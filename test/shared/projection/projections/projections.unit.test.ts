/**
 * What documents of complete, minimal and erased records show (rules R9 and R12.4). The model of the
 * contract, which shares no code with the projections, says what their bodies show.
 */
import { describe, expect, it } from 'vitest';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { RECORDS } from '#shared/records/records.ts';
import { MINIMAL } from '#test/changes.ts';
import { COMPLETE_STATES, TEXT } from '#test/complete-states.ts';
import { Model } from '#test/model.ts';
import { words } from '#test/words.ts';
import { project } from './project.ts';

type Fields = Record<string, unknown>;

/** The time of the event. */
const HAPPENED = new Date('2026-02-02T12:00:00.000Z');

const items = COMPLETE_STATES.order.items ?? [];
const [option] = COMPLETE_STATES.option_group.options;

/** What replaces fields of the complete state. */
const CASES: Partial<Record<EntityName, object>> = {
  store: { status: 'blocked' },
  coupon: { active: false },
  order: { status: 'ready', items: [...items, ...items] },
  category: { active: false },
  product: { active: false, option_group_ids: ['g2', 'g1'] },
  option_group: {
    options: [
      { ...option, id: 'c', position: 9_999, active: false },
      { ...option, id: 'b' },
      option,
    ],
  },
};

/** Parts of which events say nothing optional. */
const SPARSE: Partial<Record<EntityName, object>> = {
  store: { address: {}, opening_hours: [{ weekday: 'monday' }] },
  customer: { addresses: [{}] },
  order: {
    items: [
      { product_id: 'p1', name: 'Suco', quantity: 2, unit_price: '5.00', total: '10.00' },
      {
        product_id: 'p2',
        name: 'Pizza',
        quantity: 1,
        unit_price: '10.00',
        total: '10.00',
        options: [{}],
      },
    ],
    delivery: { address: {} },
    payments: [{}],
    status_history: [{}],
    cancellation: {},
  },
  option_group: { options: [{ id: 'a', name: 'Cheddar', price: '5.00' }] },
};

/** The complete state, in which no two fields have the same text, amount, number or time. */
function completeState(entity: EntityName): Fields {
  const { created_at } = COMPLETE_STATES.order;
  let count = 0;
  const distinct = (name: string, value: unknown): unknown => {
    count += 1;
    if (value === TEXT) return `${name} ${count}`;
    if (value === '1.00') return `${count}.00`;
    if (value === created_at) return new Date(Date.parse(created_at) + count * 1_000).toISOString();
    return value === 1 ? count : value;
  };
  const state = { ...COMPLETE_STATES[entity], ...CASES[entity] };
  return JSON.parse(JSON.stringify(state), distinct) as Fields;
}

/** The fields by which lists are filtered. */
function filtersOf(entity: EntityName, data: Fields): Fields {
  const { fields, more } = RECORDS[entity];
  const all: [string, object][] = Object.entries({ ...fields, ...more });
  const names = all.filter(([, field]) => 'isFilter' in field).map(([name]) => name);
  return Object.fromEntries(names.map((name) => [name, data[name] ?? null]));
}

/** The bodies of the document of a record by the model, and the time of its update. */
function shownBy(model: Model, entity: EntityName, updated: Date): Fields {
  const record = model.record(entity, 's1', entity === 'store' ? 's1' : 'x1') ?? {};
  const summary = model.list(entity, 's1', {}).results[0] ?? {};
  const part = (names: string) =>
    Object.fromEntries(words(names).map((name) => [name, record[name]]));
  const options = (summary['options'] ?? []) as { active: boolean }[];
  const bodies: Partial<Record<EntityName, Fields>> = {
    store: { updated_at: updated },
    coupon: { whole: record },
    customer: { updated_at: updated },
    review: { whole: record },
    campaign: { whole: record },
    order: {
      updated_at: updated,
      whole: part('customer items delivery payments coupon status_history cancellation notes'),
    },
    category: { updated_at: updated, dates: part('created_at updated_at') },
    product: {
      updated_at: updated,
      before_groups: part('ean serves'),
      after_groups: part('created_at'),
    },
    option_group: {
      active_summary: { ...summary, options: options.filter(({ active }) => active) },
    },
  };
  return { summary, ...bodies[entity] };
}

describe.each(ENTITY_NAMES)('the projection of a %s', (entity) => {
  const complete = completeState(entity);
  const least: Fields = MINIMAL[entity];
  const sparse = { ...least, ...SPARSE[entity] };
  const subject = entity === 'store' ? 's1' : 'x1';
  const event = { entity, storeId: 's1', subject, sequence: 3, time: HAPPENED };
  const deletion = { ...event, entity: 'customer', subject: 'c1', action: 'deleted' } as const;

  it.each([
    ['shows everything that an event says', complete, false],
    ['shows nothing of a deleted customer but the id', complete, true],
    ['has null, an empty list or a default for all that an event leaves out', least, false],
    ['has null or an empty list for all that a part of an event leaves out', sparse, false],
  ])('%s', (_name, data, customerErased) => {
    const model = new Model();
    model.apply({ ...event, data });
    if (customerErased) model.apply(deletion);
    const document = project(entity, data, { customerErased });
    // Change feeds read the id from the beginning of the text.
    expect(Object.keys(document['summary'] as object)[0]).toBe('id');
    const updated = data['updated_at'];
    const expected: Fields = {
      _id: `s1/${subject}`,
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      ...filtersOf(entity, data),
      ...shownBy(model, entity, typeof updated === 'string' ? new Date(updated) : HAPPENED),
    };
    const names = Object.keys(expected);
    expect(Object.fromEntries(names.map((name) => [name, document[name]]))).toEqual(expected);
  });

  it('has the same document for a null and for an absent field', () => {
    const nulls = Object.fromEntries(Object.keys(complete).map((name) => [name, null]));
    expect(project(entity, { ...nulls, ...least })).toEqual(project(entity, least));
  });
});
