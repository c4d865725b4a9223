import { describe, expect, it } from 'vitest';
import { project } from './project.ts';

const WHOLE = {
  display_id: '0001',
  status: 'ready',
  order_type: 'delivery',
  sales_channel: 'app',
  customer: {
    id: 'c1',
    name: 'Zoë',
    phone: '11 9',
    document: '123',
  },
  items: [
    {
      product_id: 'p1',
      name: 'Pizza',
      quantity: 2,
      unit_price: '10.00',
      total: '20.00',
      options: [
        {
          option_group_id: 'g1',
          option_id: 'o1',
          name: 'Borda',
          quantity: 1,
          unit_price: '1.00',
        },
      ],
    },
    {
      product_id: 'p2',
      name: 'Suco',
      quantity: 1,
      unit_price: '5.00',
      total: '5.00',
    },
  ],
  subtotal: '25.00',
  delivery_fee: '4.00',
  total: '29.00',
  delivery: {
    address: {
      street: 'Rua Augusta',
      number: '100',
      city: 'São Paulo',
      state: 'SP',
      latitude: -23.5,
    },
    fee: '4.00',
    estimated_at: '2026-01-01T15:00:00.000Z',
  },
  payments: [
    {
      method: 'pix',
      type: 'prepaid',
      amount: '29.00',
    },
  ],
  coupon: {
    id: 'k1',
    code: 'FRETE',
  },
  status_history: [
    {
      status: 'pending',
      at: '2026-01-01T15:00:00.000Z',
    },
  ],
  cancellation: {
    reason: 'engano',
    at: '2026-01-01T15:00:00.000Z',
  },
  notes: 'sem cebola',
  scheduled_for: '2026-01-01T20:00:00Z',
  created_at: '2026-01-01T15:00:00.000Z',
};

describe('the projection of an order', () => {
  it('shows everything that an event says', () => {
    expect(project('order', WHOLE)).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      rank_key: '2h73km1eo0x1',
      facet: 'da1',
      customer_id: 'c1',
      updated_at: new Date('2026-02-02T12:00:00.000Z'),
      summary: {
        id: 'x1',
        display_id: '0001',
        status: 'ready',
        order_type: 'delivery',
        sales_channel: 'app',
        customer: {
          id: 'c1',
          name: 'Zoë',
          phone: '11 9',
        },
        item_count: 3,
        subtotal: '25.00',
        delivery_fee: '4.00',
        service_fee: '0.00',
        discount: '0.00',
        total: '29.00',
        scheduled_for: '2026-01-01T17:00:00',
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
      whole: {
        customer: {
          id: 'c1',
          name: 'Zoë',
          phone: '11 9',
          document: '123',
        },
        items: [
          {
            id: null,
            product_id: 'p1',
            external_code: null,
            name: 'Pizza',
            quantity: 2,
            unit_price: '10.00',
            options: [
              {
                option_group_id: 'g1',
                option_id: 'o1',
                external_code: null,
                name: 'Borda',
                quantity: 1,
                unit_price: '1.00',
              },
            ],
            notes: null,
            total: '20.00',
          },
          {
            id: null,
            product_id: 'p2',
            external_code: null,
            name: 'Suco',
            quantity: 1,
            unit_price: '5.00',
            options: [],
            notes: null,
            total: '5.00',
          },
        ],
        delivery: {
          address: {
            street: 'Rua Augusta',
            number: '100',
            complement: null,
            district: null,
            city: 'São Paulo',
            state: 'SP',
            postal_code: null,
            reference: null,
            latitude: -23.5,
            longitude: null,
          },
          fee: '4.00',
          estimated_at: '2026-01-01T12:00:00',
        },
        payments: [
          {
            method: 'pix',
            type: 'prepaid',
            amount: '29.00',
            change_for: null,
          },
        ],
        coupon: {
          id: 'k1',
          code: 'FRETE',
        },
        status_history: [
          {
            status: 'pending',
            at: '2026-01-01T12:00:00',
          },
        ],
        cancellation: {
          reason: 'engano',
          at: '2026-01-01T12:00:00',
        },
        notes: 'sem cebola',
      },
    });
  });

  it('has null, an empty list or a default for everything that an event leaves out', () => {
    expect(
      project('order', {
        status: 'pending',
        order_type: 'takeout',
        total: '1.00',
        created_at: '2026-01-01T15:00:00.000Z',
      }),
    ).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      rank_key: '2h73km1eo0x1',
      facet: 'ab0',
      customer_id: null,
      updated_at: new Date('2026-02-02T12:00:00.000Z'),
      summary: {
        id: 'x1',
        display_id: null,
        status: 'pending',
        order_type: 'takeout',
        sales_channel: null,
        customer: null,
        item_count: 0,
        subtotal: null,
        delivery_fee: '0.00',
        service_fee: '0.00',
        discount: '0.00',
        total: '1.00',
        scheduled_for: null,
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
      whole: {
        customer: null,
        items: [],
        delivery: null,
        payments: [],
        coupon: null,
        status_history: [],
        cancellation: null,
        notes: null,
      },
    });
  });

  it('leaves out what it says of a customer who is deleted, but the id', () => {
    const { customer_id, ...document } = project('order', WHOLE, { customerErased: true });
    expect(customer_id).toBe('c1');
    expect(JSON.stringify(document)).not.toContain('Zoë');
    expect(document['whole']).toMatchObject({
      customer: { id: 'c1', name: null, phone: null, document: null },
    });
  });
});
