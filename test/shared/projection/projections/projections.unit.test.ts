/**
 * The documents of a complete event and of a minimal one (rules R9 and R12.4). Formatted by hand: related fields are on one line.
 */
import { describe, expect, it } from 'vitest';
import type { EntityName } from '#shared/events/entities.ts';
import { project } from './project.ts';

const AT = '2026-01-01T15:00:00.000Z';
const LOCAL = '2026-01-01T12:00:00';
const CREATED = new Date(AT);
/** The time of the event, and its local form. */
const HAPPENED = new Date('2026-02-02T12:00:00.000Z');
const UPDATED = '2026-02-02T09:00:00';
/** The sort key of that creation time. */
const RANK_KEY = '2h73km1eo0x1';

const ADDRESS = { street: 'Rua Augusta', number: '100', city: 'São Paulo', state: 'SP', latitude: -23.5 };
const SHOWN_ADDRESS = { ...ADDRESS, ...nulls('complement district postal_code reference longitude') };

function nulls(names: string): Record<string, null> {
  return Object.fromEntries(names.split(' ').map((name) => [name, null]));
}

interface Case {
  data: object;
  /** Fields that only some documents have. */
  fields: object;
  summary: object;
  /** The fields that details add to the summary, or the named pieces that details are composed of. */
  details?: object;
  pieces?: Record<string, object>;
}

const coupon = { discount_type: 'fixed', discount_value: '1.00', active: false };
const campaign = { name: 'Natal', channel: 'sms', status: 'draft' };
const option = {
  name: 'Catupiry',
  description: 'x',
  price: '6.00',
  max_quantity: 2,
  position: 0,
  external_code: 'E3',
};
const firstOption = { id: 'a', active: true, ...option };
const item = { name: 'Pizza', quantity: 2, unit_price: '10.00', total: '20.00' };
const choice = { option_group_id: 'g1', option_id: 'o1', name: 'Borda', quantity: 1, unit_price: '1.00' };
const juice = { name: 'Suco', quantity: 1, unit_price: '5.00', total: '5.00' };

// prettier-ignore
const ORDER = {
  display_id: '0001', status: 'ready', order_type: 'delivery', sales_channel: 'app',
  customer: { id: 'c1', name: 'Zoë', phone: '11 9', document: '123' },
  items: [
    { product_id: 'p1', ...item, options: [choice] },
    { product_id: 'p2', ...juice },
  ],
  subtotal: '25.00', delivery_fee: '4.00', total: '29.00',
  delivery: { address: ADDRESS, fee: '4.00', estimated_at: AT },
  payments: [{ method: 'pix', type: 'prepaid', amount: '29.00' }],
  coupon: { id: 'k1', code: 'FRETE' },
  status_history: [{ status: 'pending', at: AT }],
  cancellation: { reason: 'engano', at: AT },
  notes: 'sem cebola', scheduled_for: '2026-01-01T20:00:00Z', created_at: AT,
};
// prettier-ignore
const REVIEW = {
  order_id: 'o1', customer_id: 'c1', customer_name: 'Zoë', rating: 4, comment: 'Boa',
  reply: 'Obrigado', replied_at: '2026-01-03T15:00:00Z', created_at: AT,
};

// prettier-ignore
const CASES: { readonly [E in EntityName]: { everything: Case; least: Case } } = {
  store: {
    everything: {
      data: {
        name: 'Pizzaria', legal_name: 'Pizzaria Ltda', document: '12.345.678/0001-90', phone: '11 9', email: 'a@b.c',
        timezone_offset: '-04:00', order_types: ['delivery'], minimum_order_value: '20.00', address: ADDRESS,
        opening_hours: [{ weekday: 'monday', opens: '18:00', closes: '23:00' }],
        created_at: AT, updated_at: '2026-01-02T15:00:00Z',
      },
      fields: {
        _id: 's1/s1',
        status: 'active',
        created_at: CREATED,
        updated_at: new Date('2026-01-02T15:00:00.000Z'),
      },
      summary: {
        id: 's1', name: 'Pizzaria', legal_name: 'Pizzaria Ltda', document: '12.345.678/0001-90', phone: '11 9',
        email: 'a@b.c', status: 'active', timezone_offset: '-04:00', currency: 'BRL', order_types: ['delivery'],
        minimum_order_value: '20.00', address: SHOWN_ADDRESS,
        opening_hours: [{ weekday: 'monday', opens: '18:00', closes: '23:00' }],
        created_at: LOCAL, updated_at: '2026-01-02T12:00:00',
      },
    },
    least: {
      data: { name: 'Loja', timezone_offset: '-03:00', created_at: AT },
      fields: { _id: 's1/s1', status: 'active', created_at: CREATED, updated_at: HAPPENED },
      summary: {
        id: 's1', name: 'Loja', status: 'active', timezone_offset: '-03:00', currency: 'BRL', order_types: [],
        ...nulls('legal_name document phone email minimum_order_value address'),
        opening_hours: [], created_at: LOCAL, updated_at: UPDATED,
      },
    },
  },
  coupon: {
    everything: {
      data: {
        code: 'FRETE', description: 'Frete', discount_type: 'percentage', discount_value: '10.00', active: true,
        minimum_order_value: '30.00', starts_at: AT, ends_at: '2026-03-01T03:00:00Z', maximum_discount: '5.00',
        usage_limit: 9, usage_count: 1, per_customer_limit: 1, order_types: ['takeout'], created_at: AT,
      },
      fields: { active: true, created_at: CREATED },
      summary: {
        id: 'x1', code: 'FRETE', description: 'Frete', discount_type: 'percentage', discount_value: '10.00',
        minimum_order_value: '30.00', active: true, starts_at: LOCAL, ends_at: '2026-03-01T00:00:00',
        created_at: LOCAL, updated_at: UPDATED,
      },
      details: {
        maximum_discount: '5.00', usage_limit: 9, usage_count: 1, per_customer_limit: 1, order_types: ['takeout'],
      },
    },
    least: {
      data: { code: 'A', ...coupon, created_at: AT },
      fields: { active: false, created_at: CREATED },
      summary: {
        id: 'x1', code: 'A', ...coupon, ...nulls('description minimum_order_value starts_at ends_at'),
        created_at: LOCAL, updated_at: UPDATED,
      },
      details: { ...nulls('maximum_discount usage_limit usage_count per_customer_limit'), order_types: [] },
    },
  },
  customer: {
    everything: {
      data: {
        name: 'Zoë Araújo', document: '123.456.789-00', phone: '(11) 98765-4321', email: 'z@b.c',
        birth_date: '1990-05-06', accepts_marketing: true, addresses: [ADDRESS], created_at: AT,
      },
      fields: {
        rank_key: 'zoe araujo\x00x1', created_key: RANK_KEY, updated_at: HAPPENED,
        document_digits: '12345678900', document_key: '12345678900', phone_digits: '11987654321',
      },
      summary: {
        id: 'x1', name: 'Zoë Araújo', document: '123.456.789-00', phone: '(11) 98765-4321', email: 'z@b.c',
        birth_date: '1990-05-06', accepts_marketing: true, addresses: [SHOWN_ADDRESS],
        created_at: LOCAL, updated_at: UPDATED,
      },
    },
    least: {
      data: { name: 'Ana', created_at: AT },
      fields: {
        rank_key: 'ana\x00x1', created_key: RANK_KEY, updated_at: HAPPENED,
        document_digits: '', document_key: '', phone_digits: '',
      },
      summary: {
        id: 'x1', name: 'Ana', ...nulls('document phone email birth_date'), accepts_marketing: false,
        addresses: [], created_at: LOCAL, updated_at: UPDATED,
      },
    },
  },
  review: {
    everything: {
      data: REVIEW,
      fields: { rank_key: RANK_KEY, facet: 'r4', customer_id: 'c1' },
      summary: {
        id: 'x1', order_id: 'o1', customer_id: 'c1', customer_name: 'Zoë', rating: 4, comment: 'Boa',
        created_at: LOCAL,
      },
      details: { reply: 'Obrigado', replied_at: '2026-01-03T12:00:00' },
    },
    least: {
      data: { rating: 1, created_at: AT },
      fields: { rank_key: RANK_KEY, facet: 'r1', customer_id: null },
      summary: {
        id: 'x1',
        ...nulls('order_id customer_id customer_name comment'),
        rating: 1,
        created_at: LOCAL,
      },
      details: nulls('reply replied_at'),
    },
  },
  campaign: {
    everything: {
      data: {
        name: 'Natal', channel: 'email', status: 'running', starts_at: AT, ends_at: AT, message: 'Oi',
        audience: 'todos', coupon_id: 'k1', sent_count: 3, delivered_count: 2, converted_count: 1, created_at: AT,
      },
      fields: { status: 'running', created_at: CREATED },
      summary: {
        id: 'x1', name: 'Natal', channel: 'email', status: 'running', starts_at: LOCAL, ends_at: LOCAL,
        created_at: LOCAL, updated_at: UPDATED,
      },
      details: {
        message: 'Oi', audience: 'todos', coupon_id: 'k1', sent_count: 3, delivered_count: 2, converted_count: 1,
      },
    },
    least: {
      data: { ...campaign, created_at: AT },
      fields: { status: 'draft', created_at: CREATED },
      summary: {
        id: 'x1',
        ...campaign,
        ...nulls('starts_at ends_at'),
        created_at: LOCAL,
        updated_at: UPDATED,
      },
      details: nulls('message audience coupon_id sent_count delivered_count converted_count'),
    },
  },
  order: {
    everything: {
      data: ORDER,
      fields: { rank_key: RANK_KEY, facet: 'da1', customer_id: 'c1', updated_at: HAPPENED },
      summary: {
        id: 'x1', display_id: '0001', status: 'ready', order_type: 'delivery', sales_channel: 'app',
        customer: { id: 'c1', name: 'Zoë', phone: '11 9' },
        item_count: 3, subtotal: '25.00', delivery_fee: '4.00', service_fee: '0.00', discount: '0.00',
        total: '29.00', scheduled_for: '2026-01-01T17:00:00', created_at: LOCAL, updated_at: UPDATED,
      },
      pieces: {
        whole: {
          customer: { id: 'c1', name: 'Zoë', phone: '11 9', document: '123' },
          items: [
            {
              ...nulls('id external_code notes'), product_id: 'p1', ...item,
              options: [{ ...choice, external_code: null }],
            },
            { ...nulls('id external_code notes'), product_id: 'p2', ...juice, options: [] },
          ],
          delivery: { address: SHOWN_ADDRESS, fee: '4.00', estimated_at: LOCAL },
          payments: [{ method: 'pix', type: 'prepaid', amount: '29.00', change_for: null }],
          coupon: { id: 'k1', code: 'FRETE' },
          status_history: [{ status: 'pending', at: LOCAL }],
          cancellation: { reason: 'engano', at: LOCAL },
          notes: 'sem cebola',
        },
      },
    },
    least: {
      data: { status: 'pending', order_type: 'takeout', total: '1.00', created_at: AT },
      fields: { rank_key: RANK_KEY, facet: 'ab0', customer_id: null, updated_at: HAPPENED },
      summary: {
        id: 'x1', status: 'pending', order_type: 'takeout', total: '1.00', item_count: 0,
        ...nulls('display_id sales_channel customer subtotal scheduled_for'),
        delivery_fee: '0.00', service_fee: '0.00', discount: '0.00', created_at: LOCAL, updated_at: UPDATED,
      },
      pieces: {
        whole: {
          ...nulls('customer delivery coupon cancellation notes'),
          items: [], payments: [], status_history: [],
        },
      },
    },
  },
  category: {
    everything: {
      data: {
        name: 'Pizzas', description: 'Todas', position: 2, active: true, image_url: 'https://x/y', created_at: AT,
      },
      fields: { name: 'Pizzas', position: 2, active: true, updated_at: HAPPENED },
      summary: {
        id: 'x1', name: 'Pizzas', description: 'Todas', position: 2, active: true, image_url: 'https://x/y',
      },
      pieces: { dates: { created_at: LOCAL, updated_at: UPDATED } },
    },
    least: {
      data: { name: 'Pizzas', position: 0, active: false },
      fields: { name: 'Pizzas', position: 0, active: false, updated_at: HAPPENED },
      summary: { id: 'x1', name: 'Pizzas', position: 0, active: false, ...nulls('description image_url') },
      pieces: { dates: { created_at: null, updated_at: UPDATED } },
    },
  },
  product: {
    everything: {
      data: {
        category_id: 'k1', name: 'Calabresa', description: 'Boa', price: '39.90', promotional_price: '29.90',
        active: true, position: 1, image_url: 'https://x/y', external_code: 'E1', ean: '789', serves: 2,
        option_group_ids: ['g2', 'g1'], created_at: AT,
      },
      fields: {
        name: 'Calabresa', position: 1, active: true, category_id: 'k1', option_group_ids: ['g2', 'g1'],
        updated_at: HAPPENED,
      },
      summary: {
        id: 'x1', category_id: 'k1', name: 'Calabresa', description: 'Boa', price: '39.90', active: true,
        promotional_price: '29.90', position: 1, image_url: 'https://x/y', external_code: 'E1', updated_at: UPDATED,
      },
      pieces: { before_groups: { ean: '789', serves: 2 }, after_groups: { created_at: LOCAL } },
    },
    least: {
      data: { name: 'Suco', price: '1.00', position: 0, active: true },
      fields: {
        name: 'Suco', position: 0, active: true, category_id: '', option_group_ids: [], updated_at: HAPPENED,
      },
      summary: {
        id: 'x1', name: 'Suco', price: '1.00', active: true, position: 0, updated_at: UPDATED,
        ...nulls('category_id description promotional_price image_url external_code'),
      },
      pieces: { before_groups: nulls('ean serves'), after_groups: { created_at: null } },
    },
  },
  option_group: {
    everything: {
      data: {
        name: 'Bordas', min: 0, max: 1, price_method: 'max', position: 3, external_code: 'E2',
        options: [
          { id: 'b', name: 'Cheddar', price: '5.00', position: 1, active: false },
          { id: 'a', ...option },
        ],
      },
      fields: { name_key: 'bordas' },
      summary: {
        id: 'x1', name: 'Bordas', min: 0, max: 1, price_method: 'max', position: 3, external_code: 'E2',
        options: [
          firstOption,
          {
            id: 'b', name: 'Cheddar', price: '5.00', position: 1, active: false,
            ...nulls('description max_quantity external_code'),
          },
        ],
      },
      pieces: {
        active_summary: {
          id: 'x1', name: 'Bordas', min: 0, max: 1, price_method: 'max', position: 3, external_code: 'E2',
          options: [firstOption],
        },
      },
    },
    least: {
      data: { name: 'Vazio', min: 0, max: 0, options: [] },
      fields: { name_key: 'vazio' },
      summary: {
        id: 'x1', name: 'Vazio', min: 0, max: 0, position: 0, options: [], ...nulls('price_method external_code'),
      },
      pieces: {
        active_summary: {
          id: 'x1', name: 'Vazio', min: 0, max: 0, position: 0, options: [],
          ...nulls('price_method external_code'),
        },
      },
    },
  },
};

describe.each(Object.keys(CASES) as EntityName[])('the projection of a %s', (entity) => {
  it.each([
    ['shows everything that an event says', 'everything'],
    ['has null, an empty list or a default for everything that an event leaves out', 'least'],
  ] as const)('%s', (_name, which) => {
    const { data, fields, summary, details, pieces } = CASES[entity][which];
    const document = project(entity, data);
    // Change feeds read the id from the beginning of the text.
    expect(Object.keys(document['summary'] as object)[0]).toBe('id');
    expect(document).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      ...fields,
      summary,
      ...(details === undefined ? {} : { whole: { ...summary, ...details } }),
      ...pieces,
    });
  });
});

it.each(['store', 'coupon', 'customer', 'campaign', 'order', 'category', 'product'] as const)(
  'a %s has the update time of its event, and never the creation time',
  (entity) => {
    const { data } = CASES[entity].least;
    const updated = project(entity, { ...data, updated_at: '2026-03-03T12:00:00Z' });
    expect(JSON.stringify(updated)).toContain('"updated_at":"2026-03-03T09:00:00"');
    expect(project(entity, { ...data, updated_at: null })).toEqual(project(entity, data));
  },
);

it.each([
  ['order', ORDER, { customer: { id: 'c1', name: null, phone: null, document: null } }],
  ['review', REVIEW, { customer_id: 'c1', customer_name: null }],
] as const)('an %s leaves out everything of a deleted customer but the id', (entity, data, shown) => {
  const { customer_id, ...document } = project(entity, data, { customerErased: true });
  expect(customer_id).toBe('c1');
  expect(JSON.stringify(document)).not.toContain('Zoë');
  expect(document['whole']).toMatchObject(shown);
});
