/**
 * The documents of complete, minimal and erased records (rules R9 and R12.4). The model of the
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

const CREATED = new Date('2026-01-01T15:00:00.000Z');
/** The sort key of that creation time. */
const RANK_KEY = '2h73km1eo0x1';
/** The time of the event. */
const HAPPENED = new Date('2026-02-02T12:00:00.000Z');

interface Case {
  /** Replaces fields of the complete state. */
  data?: object;
  /** The fields besides bodies and times of update, for the complete and for the minimal state. */
  complete: object;
  least: object;
}

const [option] = COMPLETE_STATES.option_group.options;

const CASES: { readonly [E in EntityName]: Case } = {
  store: {
    data: { status: 'blocked' },
    complete: { _id: 's1/s1', status: 'blocked', created_at: CREATED },
    least: { _id: 's1/s1', status: 'active', created_at: CREATED },
  },
  coupon: {
    data: { active: false },
    complete: { created_at: CREATED },
    least: { created_at: CREATED },
  },
  customer: {
    data: { name: 'Zoë Araújo', document: '123.456.789-00', phone: '(11) 98765-4321' },
    complete: {
      rank_key: 'zoe araujo\u0000x1',
      created_key: RANK_KEY,
      document_digits: '12345678900',
      document_key: '12345678900',
      phone_digits: '11987654321',
    },
    least: {
      rank_key: 'ana\u0000x1',
      created_key: RANK_KEY,
      document_digits: '',
      document_key: '',
      phone_digits: '',
    },
  },
  review: {
    data: { rating: 4 },
    complete: { rank_key: RANK_KEY, facet: 'r4', customer_id: 'c1' },
    least: { rank_key: RANK_KEY, facet: 'r5', customer_id: null },
  },
  campaign: {
    complete: { created_at: CREATED },
    least: { created_at: CREATED },
  },
  order: {
    data: {
      status: 'ready',
      items: [...(COMPLETE_STATES.order.items ?? []), ...(COMPLETE_STATES.order.items ?? [])],
    },
    complete: { rank_key: RANK_KEY, facet: 'da1', customer_id: 'c1' },
    least: { rank_key: RANK_KEY, facet: 'aa0', customer_id: null },
  },
  category: {
    data: { name: 'Ápices', position: 2, active: false },
    complete: { name: 'Ápices', position: 2, active: false },
    least: { name: 'Pizzas', position: 1, active: true },
  },
  product: {
    data: { name: 'Água', position: 2, active: false, option_group_ids: ['g2', 'g1'] },
    complete: {
      name: 'Água',
      position: 2,
      active: false,
      category_id: 'c1',
      option_group_ids: ['g2', 'g1'],
    },
    least: { name: 'Pizza', position: 1, active: true, category_id: '', option_group_ids: [] },
  },
  option_group: {
    data: {
      name: 'Ânimo',
      options: [
        { ...option, id: 'c', position: 9_999, active: false },
        { ...option, id: 'b' },
        option,
      ],
    },
    complete: { name_key: 'animo' },
    least: { name_key: 'borda' },
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
  const state = { ...COMPLETE_STATES[entity], ...CASES[entity].data };
  return {
    ...(JSON.parse(JSON.stringify(state), distinct) as Fields),
    ...('created_at' in state && { created_at: CREATED }),
  };
}

/** The fields by which lists are filtered. */
function filtersOf(entity: EntityName, data: Fields): Fields {
  const { fields, more } = RECORDS[entity];
  const all: [string, object][] = Object.entries({ ...fields, ...more });
  const names = all.filter(([, field]) => 'isFilter' in field).map(([name]) => name);
  return Object.fromEntries(names.map((name) => [name, data[name] ?? null]));
}

function minimalState(entity: EntityName): Fields {
  return { ...MINIMAL[entity], ...('created_at' in MINIMAL[entity] && { created_at: CREATED }) };
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
  const least = minimalState(entity);
  const states = { complete, least, sparse: { ...least, ...SPARSE[entity] } };
  const subject = entity === 'store' ? 's1' : 'x1';

  it.each([
    ['shows everything that an event says', 'complete', 'complete', false],
    ['shows nothing of a deleted customer but the id', 'complete', 'complete', true],
    [
      'has null, an empty list or a default for everything that an event leaves out',
      'least',
      'least',
      false,
    ],
    [
      'has null or an empty list for everything that a part of an event leaves out',
      'sparse',
      'least',
      false,
    ],
  ] as const)('%s', (_name, state, fields, customerErased) => {
    const data: Fields = states[state];
    const model = new Model();
    model.apply({ entity, storeId: 's1', subject, sequence: 3, time: HAPPENED, data });
    const deletion = {
      entity: 'customer',
      storeId: 's1',
      subject: 'c1',
      sequence: 4,
      action: 'deleted',
    } as const;
    if (customerErased) model.apply(deletion);
    const document = project(entity, data, { customerErased });
    // Change feeds read the id from the beginning of the text.
    expect(Object.keys(document['summary'] as object)[0]).toBe('id');
    expect(document).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      ...CASES[entity][fields],
      ...filtersOf(entity, data),
      ...shownBy(
        model,
        entity,
        typeof data['updated_at'] === 'string' ? new Date(data['updated_at']) : HAPPENED,
      ),
    });
  });

  it('has the same document for a null and for an absent field', () => {
    const nulls = Object.fromEntries(Object.keys(complete).map((name) => [name, null]));
    expect(project(entity, { ...nulls, ...least })).toEqual(project(entity, least));
  });
});
